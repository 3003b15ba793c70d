// The organiser's pages can be read without this file; it sends what is changed, and keeps the live page fresh.

import { $, $$, ask, element } from "./common.js";

const FRESH_EVERY = 10000; // milliseconds
const NAMED = 4; // labels named in a message
const main = $("#main");
const campaign = main.dataset.campaign;
const here = `campaigns/${campaign}`;

const say = (text) => { $("#said").textContent = text; };

function trouble(text) {
  const note = $("#problems") ?? $("#banner");
  note.replaceChildren(...text.split(/; (?=row \d+: |nothing was taken)|: (?=row \d+: )/).map((part) => element("p", { text: part })));
  note.hidden = false;
  note.scrollIntoView({ block: "nearest" });
}

async function change(what, then = () => location.reload()) {
  try { then(await what()); } catch (problem) { trouble(problem.message); }
}

function showLinks(rows) {
  $("#links-rows").replaceChildren(...rows.map(({ name, link }) => {
    const copy = element("button", { kind: "button", text: "Copy", type: "button" });
    const field = element("input", { kind: "input", value: link, readonly: "", "aria-label": name });
    copy.addEventListener("click", async () => {
      field.select();
      try { await navigator.clipboard.writeText(link); } catch { document.execCommand("copy"); }
      copy.textContent = "Copied";
    });
    return element("div", { kind: "link-row" }, element("b", { text: name }), field, copy);
  }));
  const dialog = $("#links");
  dialog.showModal();
  return new Promise((resolve) => { dialog.addEventListener("close", resolve, { once: true }); });
}

// Items that a judge is never shown, by their names.
async function neverShown({ conflicts: judge, name, codes }) {
  const dialog = $("#conflicts"), field = $("#never"), wrong = $("#conflicts-wrong");
  let labels;
  try { labels = new Map((await ask("GET", `${here}/items`)).map(({ code, label }) => [code, label])); } catch (problem) { trouble(problem.message); return; }
  const known = new Map([...labels].map(([code, label]) => [label.trim(), code]));
  $("#conflicts-who").textContent = name;
  field.value = codes.split(" ").filter(Boolean).map((code) => labels.get(Number(code))).join("\n");
  wrong.hidden = true;
  $("form", dialog).onsubmit = (event) => {
    if (event.submitter?.value !== "save") return;
    const lines = field.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const missing = lines.filter((line) => !known.has(line));
    wrong.textContent = missing.length ? `There is no item “${missing[0]}” in this campaign.` : "";
    wrong.hidden = !missing.length;
    if (missing.length) { event.preventDefault(); return; }
    change(() => ask("PATCH", `${here}/judges/${judge}`, { conflicts: lines.map((line) => known.get(line)) }));
  };
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const pressed = event.target.closest("button");
  if (!pressed) return;
  if ("conflicts" in pressed.dataset) { neverShown(pressed.dataset); return; }
  const { ask: question, patch, patchItem, patchJudge, body, link, erase, rename, name } = pressed.dataset;
  const sends = patch ?? patchItem ?? patchJudge ?? link ?? erase ?? rename;
  if (sends === undefined || (question && !confirm(question))) return;
  if (patch) change(() => ask("PATCH", here, JSON.parse(patch)));
  if (patchItem) change(() => ask("PATCH", `${here}/items/${patchItem}`, JSON.parse(body)));
  if (patchJudge) change(() => ask("PATCH", `${here}/judges/${patchJudge}`, JSON.parse(body)));
  if (link) change(() => ask("POST", `${here}/judges/${link}/link`), ({ link: fresh }) => showLinks([{ name: "New link", link: fresh }]));
  if (erase) change(() => ask("DELETE", `${here}/judges/${erase}`));
  if (rename) {
    const fresh = prompt("New name", name);
    if (fresh) change(() => ask("PATCH", `${here}/judges/${rename}`, { name: fresh }));
  }
});

// Forms

const whole = (text) => (text.trim() === "" ? null : Number(text));

// What is no number is sent as it stands: the server says what is wrong with it.

function numberOf(text) {
  const value = Number(text);
  return text.trim() && Number.isFinite(value) ? value : text.trim();
}

// A name in a line of text stands as in a CSV file: in quotation marks where it holds a comma, or blanks at an end.
const NAME = /^\s*("(?:[^"]|"")*"|[^,]*?)\s*(?:,(.*))?$/;

function nameOf(text) {
  const inside = /^"(.*)"$/.exec(text.trim());
  return inside ? inside[1].replaceAll('""', '"') : text.trim();
}

function marksOf(given) {
  const marks = {};
  const parted = (text, by) => [text.slice(0, text.lastIndexOf(by)).trim(), numberOf(text.slice(text.lastIndexOf(by) + 1))];
  if (given.marks_scale.trim()) marks.scale = given.marks_scale.split(":").map(numberOf);
  const grades = given.marks_boundaries.split(",").filter((part) => part.trim());
  if (grades.length) marks.boundaries = Object.fromEntries(grades.map((part) => parted(part, "=")));
  const known = given.marks_known.split("\n").filter((line) => line.trim());
  if (known.length) marks.known = Object.fromEntries(known.map((line) => parted(line, ",")).map(([item, mark]) => [nameOf(item), mark]));
  return Object.keys(marks).length ? marks : null;
}

function optionsOf(form) {
  const given = Object.fromEntries(new FormData(form));
  const changes = {}, options = {}, texts = {};
  if ("instructions" in given) {
    changes.instructions = given.instructions.replaceAll("\r\n", "\n");
    changes.title = given.title;
    changes.question = given.question;
    options.ties = "ties" in given;
    texts.consent = given.consent.trim() || null;
    const completion = { code: given.completion_code.trim(), url: given.completion_url.trim() };
    texts.completion = completion.code || completion.url ? completion : null;
    const answers = given.answers.split("\n").map((line) => line.trim()).filter(Boolean);
    const right = Math.max(0, answers.findIndex((line) => line.startsWith("*")));
    texts.comprehension = given.comprehension.trim()
      ? { question: given.comprehension.trim(), answers: answers.map((line) => line.replace(/^\*\s*/, "")), right } : null;
    options.texts = texts;
  } else {
    for (const name of ["top", "target", "budget"]) options[name] = whole(given[name]);
    options.votes_per_pair = whole(given.votes_per_pair);
    options.check_share = Number(given.check_share) / 100;
    options.lease_minutes = Number(given.lease_minutes);
    options.gold = given.gold.split("\n").filter((line) => line.trim()).map((line) => {
      const [, better, other] = NAME.exec(line);
      return [nameOf(better), nameOf(other ?? ""), 1];
    });
    options.marks = marksOf(given);
  }
  changes.options = options;
  return changes;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method === "dialog") return;
  event.preventDefault();
  const given = Object.fromEntries(new FormData(form));
  if ("options" in form.dataset) change(() => ask("PATCH", here, optionsOf(form)), () => say("Saved") ?? location.reload());
  if ("invite" in form.dataset) {
    const names = given.names.split("\n").map((name) => name.trim()).filter(Boolean);
    change(() => ask("POST", `${here}/judges`, { names }), (made) => showLinks(made).then(() => location.reload()));
  }
  if ("openLink" in form.dataset) {
    const body = { most: Number(given.most), ...(given.parameter.trim() ? { parameter: given.parameter.trim() } : {}) };
    change(() => ask("POST", `${here}/open-link`, body), ({ link }) => showLinks([{ name: "Open link", link }]).then(() => location.reload()));
  }
  if ("new" in form.dataset) {
    change(() => ask("POST", "campaigns", new FormData(form)), async ({ link, token }) => {
      await showLinks([{ name: "Organiser", link }]);
      await ask("POST", "session", { token });
      location.assign("/o/setup");
    });
  }
});

document.addEventListener("change", (event) => {
  const input = event.target;
  if (input.type !== "file" || !input.files.length) return;
  const form = input.closest("form"), body = new FormData();
  body.append("file", input.files[0]);
  const note = $("#problems");
  note.hidden = true;
  if (form.dataset.upload === "import") change(() => ask("POST", `${here}/import`, body), (done) => {
    const added = ["votes", "skips", "undos"].map((what) => [done[what], what]).filter(([many, what]) => many || what === "votes");
    const words = added.map(([many, what]) => `${many.toLocaleString("en")} ${many === 1 ? what.slice(0, -1) : what}`).join(", ");
    $("#taken").textContent = `${words} added${done.repeated ? `, ${done.repeated.toLocaleString("en")} of the file there already` : ""}${done.left_out ? `, ${done.left_out.toLocaleString("en")} left out: undone, skipped or not counted there` : ""}`;
    input.value = "";
  });
  if (form.dataset.upload === "items") change(() => ask("POST", `${here}/items`, body), ({ without_text: bare }) => {
    const more = bare.length > NAMED ? ` and ${bare.length - NAMED} more` : "";
    if (bare.length) alert(`Judges see the labels alone of these items, beside the texts of others: ${bare.slice(0, NAMED).join(", ")}${more}. The file has no text for them; withdraw them here if that is not what you want.`);
    location.reload();
  });
  if ("new" in form.dataset) {
    $("#file-name").textContent = input.files[0].name;
    change(() => ask("POST", "preview", body), ({ items, rows, labels_alone: alone }) => {
      const seen = alone ? "; judges see the labels alone, as no column is called text, body or file" : "";
      $("#file-about").textContent = `${items} items${seen}`;
      const table = $("#preview");
      table.tBodies[0].replaceChildren(...rows.map((row) => element("tr", {},
        element("th", { text: row.label, scope: "row", dir: "auto" }), element("td", { kind: "body long-only", text: row.preview, dir: "auto" }),
        element("td", { kind: "num", text: String(row.words || "–") }))));
      table.hidden = false;
    });
  }
});

// Live: look now and then, and take the new page in where something has moved.

async function freshen() {
  if (document.hidden || $("dialog[open]")) return;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#main");
    const open = $$("details[open]", main).length > 0;
    if (fresh && fresh.dataset.position !== main.dataset.position) {
      main.dataset.position = fresh.dataset.position;
      main.replaceChildren(...fresh.childNodes);
      if (open) for (const each of $$("details", main)) each.open = true;
    }
  } catch { /* the next look may find it */ }
}
if (location.pathname === "/o/live") setInterval(freshen, FRESH_EVERY);
