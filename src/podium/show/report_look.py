"""How a page looks, and the few lines of script that sort, search and open a pair's record."""

from __future__ import annotations

__all__ = ["MARKS", "SCRIPT", "STYLE"]

STYLE = """
:root{color-scheme:light dark;--ground:#fafaf8;--paper:#fff;--ink:#1a1b1e;--soft:#65686f;--line:#e7e6e1;--rule:#bfbeb7;
--control:#8a8981;--band:#f3f3f0;--blue:#3a49c4;--span:#c3c8f0;--fill:#3a49c4;
--brown:#7f5539;--warn:#8a5200;--warn-paper:#fcf3e1;--lose:#b4531f;--green:#0f7052;--pink:#a8477f;--gold:#8a5f00;
--sky:#1f7aa8}
@media (prefers-color-scheme:dark){:root{--ground:#0f1012;--paper:#17181b;--ink:#ededef;--soft:#9b9fa8;--line:#292b30;
--rule:#565a63;--control:#70747d;--band:#1e2024;--blue:#9aa6ff;--span:#474e8c;--fill:#5b69e0;
--brown:#c9a27e;--warn:#e6b15c;--warn-paper:#2e2513;--lose:#f0a27a;--green:#5cc9a0;--pink:#e6a1c6;
--gold:#f0bd4b;--sky:#a5dcff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.5rem 4rem;max-width:70rem;background:var(--ground);color:var(--ink);
overflow-wrap:anywhere;-webkit-text-size-adjust:100%;
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:2rem;line-height:1.15;letter-spacing:-.022em;font-weight:640;margin:0 0 .5rem;text-wrap:balance;
unicode-bidi:plaintext}
h2{font-size:1.125rem;letter-spacing:-.011em;font-weight:620;margin:2.2rem 0 .5rem}
p{margin:.4rem 0;max-width:46rem}.soft{color:var(--soft);font-size:.875rem}
a{color:var(--blue)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.875rem}
th{font-weight:500;overflow-wrap:normal;font-size:.8rem;color:var(--soft);text-align:left;
border-bottom:1px solid var(--line);padding:.5rem .6rem}
td{padding:.4rem .6rem;vertical-align:middle;border-bottom:1px solid var(--line)}
tbody tr:last-child td{border-bottom:0}
td.n,th.n{text-align:right}td.n{white-space:nowrap}
td.item{overflow-wrap:anywhere;min-width:8.5rem;font-weight:600;unicode-bidi:plaintext;text-align:left}
.board td.item{min-width:10rem}td.item small{font-weight:400}td.item small span{white-space:nowrap;margin-right:.6em}
tr.first td{border-top:2px solid var(--rule)}
td.bar{width:28%;min-width:6.5rem;padding:0 .6rem}td.bar.judge{width:40%}
td.bar svg{display:block;width:100%;height:1.6rem;overflow:visible}
.rail{fill:var(--line)}.span{fill:var(--span)}.tip{fill:var(--blue)}.zero{stroke:var(--rule);stroke-width:1}
.whisker{stroke:var(--blue);stroke-width:2}.dot{fill:var(--blue);stroke:var(--paper);stroke-width:2}
.card{background:var(--paper);border:1px solid var(--line);border-radius:14px;
box-shadow:0 1px 2px rgb(20 20 30/.05);margin:1rem 0;overflow:hidden}
.card td:first-child,.card th:first-child{padding-left:1.2rem}
.card td:last-child,.card th:last-child{padding-right:1.2rem}
.card>p{padding:.3rem 1.2rem}.away{position:absolute;clip-path:inset(50%)}
.warn{background:var(--warn-paper);color:var(--warn);border-left:4px solid currentColor;padding:.5rem .8rem;
margin:.5rem 0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;max-width:100%}.figure svg{max-width:100%;height:auto}.narrow{display:none}
.scroll:focus-visible{outline:2px solid var(--blue)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.4rem 0}dt{color:var(--soft)}dd{margin:0}
pre{background:var(--band);padding:.6rem .8rem;overflow-x:auto;font-size:.85rem;white-space:pre-wrap;
border-radius:10px;overflow-wrap:anywhere}
@media (max-width:40rem){body{padding:1.2rem .9rem 2rem}h1{font-size:1.6rem}.wide{display:none}
.narrow{display:block;color:var(--soft)}td.ends{white-space:normal}
td,th{padding:.35rem .25rem}td.item,.board td.item{min-width:6.8rem}td.bar{width:32%;min-width:4rem;padding:0 .25rem}
.card td:first-child,.card th:first-child{padding-left:.7rem}
.card td:last-child,.card th:last-child{padding-right:.7rem}
dl{grid-template-columns:1fr;gap:0}dd{margin:0 0 .4rem}}
@media print{:root{--ground:#fff;--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--rule:#777;--band:#f0f0f0;
--blue:#3a49c4;--span:#c3c8f0;--warn:#000;
--warn-paper:#fff;--lose:#b4531f;--green:#0f7052;--pink:#a8477f;--gold:#8a5f00;--sky:#1f7aa8;--brown:#7f5539}
body{max-width:none;padding:0;font-size:10pt}tr,.figure,.warn{break-inside:avoid}.card{box-shadow:none;overflow:visible}
thead{display:table-header-group}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""

# What only the leaderboard's page has: tabs, links to rows, the matrix of pairs and the card of one pair.
MARKS = """
.hero{display:flex;flex-wrap:wrap;align-items:end;justify-content:space-between;gap:.5rem 1.5rem}
.hero>div{flex:1 1 24rem}.lead{color:var(--soft);font-size:1rem;margin:0}
.lead b{color:var(--ink);font-weight:620;unicode-bidi:plaintext}
.facts{display:flex;flex-wrap:wrap;gap:.3rem 1.5rem;max-width:none;margin:1rem 0 0;padding-bottom:1.2rem;
border-bottom:1px solid var(--line);color:var(--soft);font-size:.875rem}.facts b{color:var(--ink);font-weight:620}
.tools{display:flex;flex-wrap:wrap;align-items:center;gap:.7rem 1.5rem;margin:1.2rem 0 0}
caption{text-align:left;padding:.9rem 1.2rem .3rem;font-weight:620}
.board td{padding-top:.55rem;padding-bottom:.55rem}.board td.bar{padding-top:0;padding-bottom:0}
.board th:first-child{width:4rem}.board td.score{font-weight:620}.resorted tr.first td{border-top:0}
th button{all:unset;cursor:pointer;display:block;width:100%}th button:focus-visible{outline:2px solid var(--blue)}
th[aria-sort=ascending] button::after{content:" ↑"}th[aria-sort=descending] button::after{content:" ↓"}
input[type=search]{font:inherit;font-size:.875rem;min-height:2.25rem;padding:.3rem .8rem;
border:1px solid var(--control);border-radius:10px;
background:var(--paper);color:var(--ink);max-width:100%;margin-left:auto}
a.anchor::before{content:"#"}
a.anchor{position:absolute;color:var(--soft);text-decoration:none;opacity:0;padding-left:.3rem;font-weight:400}
tr:hover a.anchor,a.anchor:focus{opacity:1}tr:target{outline:2px solid var(--blue);outline-offset:-2px}
.up{color:var(--green)}.down{color:var(--lose)}
.ranks td:not(.item){text-align:center}.ranks th:not(:first-child){text-align:center}
.ranks small,.chances .n small{color:var(--soft);display:block;font-size:.75rem;line-height:1.1;white-space:nowrap}
.ranks th{overflow-wrap:anywhere;min-width:4rem}.ranks th.n{overflow-wrap:normal}
.ranks .best{background:var(--blue);color:var(--paper);border-radius:.3rem;display:inline-block;min-width:1.7rem}
.ranks .perhaps{box-shadow:inset 0 0 0 1px var(--blue);border-radius:.3rem;display:inline-block;min-width:1.7rem}
details{margin:.5rem 0}summary{cursor:pointer;padding:.3rem 0}.card>summary{padding:.7rem 1.2rem}
.take{display:flex;flex-wrap:wrap;gap:.5rem;margin:0}
.take a{display:inline-flex;align-items:center;min-height:2.25rem;border:1px solid var(--control);border-radius:10px;
padding:0 .9rem;background:var(--paper);color:var(--ink);text-decoration:none;font-size:.875rem;font-weight:550}
@media print{.take{display:none}}
.take a:hover{background:var(--band)}.take a:focus-visible{outline:2px solid var(--blue)}
fieldset.tabs{display:none;border:0;margin:0;padding:3px;background:var(--band);border-radius:10px;
width:fit-content;max-width:100%;flex-wrap:wrap}
.tabs legend{position:absolute;clip-path:inset(50%)}.tabs input{position:absolute;opacity:0}
.tabs span{display:block;padding:.35rem .8rem;border-radius:8px;cursor:pointer;color:var(--soft);font-size:.875rem;
font-weight:550}
.tabs :checked+span{background:var(--paper);color:var(--ink);box-shadow:0 0 0 1px var(--line)}
.tabs :focus-visible+span{outline:2px solid var(--blue)}
.switch{display:none;align-items:center;gap:.7rem;cursor:pointer;font-size:.875rem;font-weight:550}
.switch input{appearance:none;flex:none;width:36px;height:20px;margin:0;border-radius:99px;background:var(--control);
position:relative;cursor:pointer}
.switch input::after{content:"";position:absolute;left:2px;top:2px;width:16px;height:16px;border-radius:50%;
background:#fff}
.switch input:checked{background:var(--fill)}.switch input:checked::after{left:18px}
.switch input:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
@media screen{@supports selector(:has(*)){fieldset.tabs,.switch{display:flex}
body:has(#view-0:checked) .panel:not(.v0),body:has(#view-1:checked) .panel:not(.v1),
body:has(#view-2:checked) .panel:not(.v2),body:has(#view-3:checked) .panel:not(.v3),
body:has(#view-4:checked) .panel:not(.v4),body:has(#view-5:checked) .panel:not(.v5),
body:not(:has(#view-0:checked)) .switch,
body:not(:has(#view-0:checked)) .without-effects,body:has(#effects:checked) .without-effects,
body:has(#view-0:checked):has(#effects:not(:checked)) .with-effects,.with-effects caption{display:none}
.panel>h2:first-child{margin-top:1.2rem}}}
table.pairs{width:auto;border-spacing:2px;border-collapse:separate}
.pairs th{border:0;padding:.1rem .4rem;text-align:center}
.pairs td{border:0}
.pairs th[scope=row]{position:sticky;left:0;background:var(--ground);color:var(--ink);text-align:left;
font-size:.85rem;
max-width:15rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.pairs th[scope=row] i{font-style:normal;color:var(--soft);display:inline-block;min-width:1.4rem}
.pairs td{min-width:2.1rem;width:3.4rem;height:1.7rem;padding:0 .2rem;text-align:center;font-size:.8rem;
border-radius:.25rem}
.pairs td.hit{cursor:help;background:color-mix(in srgb,var(--blue) var(--much),var(--band))}
.pairs td.hit.lost{background:color-mix(in srgb,var(--lose) var(--much),var(--band))}
.pairs td.m0{--much:0%}.pairs td.m1{--much:12%}.pairs td.m2{--much:24%}.pairs td.m3{--much:36%}
.pairs td.m4{--much:48%}
.pairs td:focus-visible,.pairs td.hit:hover{outline:2px solid var(--ink)}
#card{position:absolute;z-index:9;width:17rem;max-width:calc(100vw - 1rem);background:var(--paper);color:var(--ink);
border:1px solid var(--soft);border-radius:.6rem;padding:.7rem .8rem;font-size:.85rem;
box-shadow:0 8px 24px rgb(0 0 0/.25)}
#card span{white-space:nowrap}
#card div{display:flex;height:.5rem;margin:.4rem 0;border-radius:2px;overflow:hidden}
#card .w{background:var(--blue)}#card .t{background:var(--rule)}#card .l{background:var(--lose)}
#card p{display:flex;justify-content:space-between;gap:.8rem;margin:.15rem 0}#card b{text-align:right}
.odds{display:block;width:100%;height:.6rem}.odds .w{fill:var(--blue)}.odds .t{fill:var(--line)}
.odds .l{fill:var(--lose)}.chances .odds{min-width:6rem}.chances .when{white-space:nowrap}
.curves{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.8rem 1.2rem}
.curves figure{margin:0;min-width:0}.curves svg{display:block;width:100%;height:5rem}
.curves figcaption{font-size:.8rem;font-weight:600;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.curves i{font-style:normal;font-weight:400;color:var(--soft)}
.curves svg{border-bottom:1px solid var(--rule)}.curves .behind{fill:none;stroke:var(--rule);stroke-width:.8;opacity:.6}
.curves polygon{fill:var(--span);opacity:.75}.curves svg>polyline{fill:none;stroke:var(--blue);stroke-width:2}
@media (hover:none){a.anchor{display:none}}
@media (max-width:40rem){.board th:first-child{width:2.8rem}
.chances td.item{font-size:.9rem;line-height:1.3}.chances td span{color:inherit;margin-top:.3rem}
.chances .n small{letter-spacing:-.03em}
input[type=search]{width:100%}.board .dot{r:3.5px;stroke-width:1}
.pairs td{width:2.1rem}.pairs th[scope=row]{max-width:7rem;min-width:6rem;white-space:normal;line-height:1.15;
font-size:.78rem;padding-left:.2rem}.pairs th[scope=row] i{min-width:0}
.pairs th[scope=row] bdi{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}}
"""

# With a script the tables can be sorted and searched, and a pair's record opens where one points; without one, all is
# there and reads the same. It holds no data.
SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (head.classList.contains("still")) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      table.classList.toggle("resorted", at > 0 || !up);
      const key = (row) => row.cells[at].dataset.v ?? row.cells[at].firstChild?.textContent ?? "";
      const number = (row) => key(row) === "" ? NaN : Number(key(row));
      const order = (one, other) => {
        const [a, b] = [number(one), number(other)];
        if (!Number.isNaN(a) && !Number.isNaN(b)) return up ? a - b : b - a;
        if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
        return (up ? 1 : -1) * key(one).localeCompare(key(other));
      };
      body.append(...[...body.rows].sort(order));
    };
  });
}
const board = document.querySelector("table.sortable");
if (board && board.tBodies[0].rows.length > 8) {
  const search = Object.assign(document.createElement("input"), { type: "search", placeholder: "Find an item" });
  search.setAttribute("aria-label", "Find an item");
  search.oninput = () => {
    const wanted = search.value.toLowerCase();
    for (const row of document.querySelectorAll("table.sortable tbody tr"))
      row.hidden = ![...row.querySelectorAll(".item")].some((cell) =>
        cell.firstChild.textContent.toLowerCase().includes(wanted));
  };
  document.querySelector(".tools").append(search);
}
const matrix = document.querySelector("table.pairs");
if (matrix) {
  const card = Object.assign(document.createElement("div"), { id: "card", hidden: true });
  card.setAttribute("role", "status");
  document.body.append(card);
  const line = (name, value) => {
    const row = document.createElement("p");
    const part = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
    row.append(part("span", name), part("b", value));
    return row;
  };
  const hide = () => { card.hidden = true; };
  const show = (cell) => {
    const head = (at) => matrix.tBodies[0].rows[at].cells[0].title;
    const [won, tied, lost, low, high, expected] = cell.dataset.r.split(" ");
    card.replaceChildren(line("", head(cell.parentNode.rowIndex - 1)), line("against", head(cell.cellIndex - 1)),
      line("Won · tied · lost", `${won} · ${tied} · ${lost}`));
    const bar = document.createElement("div");
    [won, tied, lost].forEach((count, at) => {
      const part = Object.assign(document.createElement("i"), { className: "wtl"[at] });
      part.style.flexGrow = count;
      bar.append(part);
    });
    card.append(bar);
    const rate = `${cell.textContent} %`;
    card.append(line("Rate", low === "-" ? rate : `${rate} (${low}–${high})`));
    if (expected !== "-") card.append(line("Expected", `${expected} %`));
    card.hidden = false;
    const at = cell.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - card.offsetWidth - 8);
    const below = at.bottom + card.offsetHeight + 8 < innerHeight;
    card.style.left = `${Math.max(8, left) + scrollX}px`;
    card.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - card.offsetHeight - 6)}px`;
  };
  const hits = [...matrix.querySelectorAll("td.hit")];
  hits.forEach((cell, at) => { cell.tabIndex = at ? -1 : 0; });
  const hit = (event) => event.target.closest?.("td.hit");
  matrix.addEventListener("pointerover", (event) => (hit(event) ? show(hit(event)) : hide()));
  matrix.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  matrix.addEventListener("focusin", (event) => { if (hit(event)) show(hit(event)); });
  matrix.addEventListener("focusout", hide);
  matrix.addEventListener("click", (event) => { if (hit(event)) { hit(event).focus(); show(hit(event)); } });
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  matrix.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = steps[event.key];
    if (!step || !hit(event)) return;
    event.preventDefault();
    let [row, column] = [event.target.parentNode.rowIndex + step[0], event.target.cellIndex + step[1]];
    for (let cell; (cell = matrix.rows[row]?.cells[column]); row += step[0], column += step[1])
      if (cell.classList.contains("hit")) {
        hits.forEach((each) => { each.tabIndex = -1; });
        cell.tabIndex = 0;
        cell.focus();
        break;
      }
  });
}
"""
