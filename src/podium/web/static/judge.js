// Judging: one key decides, the next pair is there at once, nothing is lost.

import { $, $$, ask, element, enterByLink, filled, newId, Refused } from "./common.js";
import { Outbox } from "./outbox.js";

const screen = $("#judging"), message = $("#message");
const words = JSON.parse(screen.dataset.words);
const trying = Boolean(screen.dataset.trying);
const cards = { left: $("#left"), right: $("#right") };
// Keys go by position (event.code), so other keyboards work.
const KEYS = { ArrowLeft: "left", Digit1: "left", Numpad1: "left", ArrowRight: "right", Digit2: "right", Numpad2: "right", ArrowDown: "tie", KeyT: "tie", KeyS: "skip", KeyU: "undo", KeyF: "report" };
// On a phone one item is above the other.
const NARROW = matchMedia("(max-width: 700px)");
const STACKED = { left: "first", right: "second" };
const OUTCOMES = { left: 1, right: 0, tie: 0.5, skip: null };
const SWIPE = 90; // pixels
const SHORT = 160; // characters of instructions that stay below the question
const MOST_REFUSED = 200; // votes that were not taken, kept for the record

let campaign, who, outbox, hand = [], past = [], answered = 0, target = null, why = null, completion = null;
let shown = 0, current = null, since = 0, past_end = false, waiting = false;
const fetched = new Set();

const say = (text) => { $("#said").textContent = text; };

// Filling a side

function media(view, name) {
  if (view.kind === "image") return element("img", { src: view.media, alt: name });
  if (view.kind === "audio") return element("audio", { src: view.media, controls: "", preload: "auto", "aria-label": name });
  if (view.kind === "video") return element("video", { src: view.media, controls: "", preload: "auto", "aria-label": name });
  return element("iframe", { src: view.media, sandbox: "", title: name });
}

function fill(side, view) {
  const text = $(".text", cards[side]);
  text.replaceChildren();
  if (view.html) text.innerHTML = view.html; // made safe by the server
  if (view.media) text.prepend(media(view, words[NARROW.matches ? STACKED[side] : side]));
  text.classList.toggle("seen", Boolean(view.media));
  text.scrollTop = 0;
  cards[side].classList.remove("chosen", "passed");
}

function preload() {
  for (const { media: address } of hand.slice(1).flatMap(({ left, right }) => [left, right])) {
    if (!address || fetched.has(address)) continue;
    fetched.add(address);
    fetch(address, { credentials: "same-origin" }).then((answer) => answer.blob()).catch(() => fetched.delete(address));
  }
}

function progress() {
  $("#count").textContent = answered + (target && current ? 1 : 0); // the pair of so many that is shown, or how many are done
  $(".progress .meter").classList.toggle("none", !target);
  $("#target").textContent = target ? `${words.of_about} ${target}` : words.so_far;
  $("#filled").setAttribute("width", `${target ? Math.min(100, (100 * answered) / target) : 0}%`);
}

// Instructions that fit below the question stay there; longer ones were read before the first pair.
function inShort(html) {
  const read = element("template");
  read.innerHTML = html; // made safe by the server
  const text = read.content.textContent.trim().replace(/\s+/g, " ");
  return text.length <= SHORT ? text : "";
}

const enough = () => Boolean(target && answered >= target && !past_end);

function show() {
  current = enough() ? null : hand[0] ?? null;
  progress();
  if (!current) { waitOrEnd(); return; }
  message.hidden = true;
  screen.hidden = false;
  waiting = false;
  fill("left", current.left);
  fill("right", current.right);
  $("#hint").textContent = current.repeat ? words.repeat : inShort(campaign.instructions);
  shown = performance.now();
  preload();
}

// Without a pair: the end, or what is on its way brings the next one.
function waitOrEnd() {
  const reason = enough() && hand.length ? "target" : why;
  if (reason && !outbox.entries.length) { ended(reason); return; }
  const kept = outbox.entries.length;
  tell(kept ? filled(words.kept, { count: kept }) : words.loading, kept ? [paragraph(words.kept_how)] : []);
  waiting = true;
}

// Words instead of a pair

function tell(title, parts, buttons = []) {
  current = null;
  waiting = false;
  screen.hidden = true;
  const head = element("h1", { text: title, tabindex: "-1" });
  const row = element("p", { kind: "line" }, ...buttons);
  $("#message-body").replaceChildren(head, ...parts, ...(buttons.length ? [row] : []));
  message.hidden = false;
  head.focus({ preventScroll: true });
}

const paragraph = (text) => element("p", { text });
function button(text, then, kind = "button main") {
  const made = element("button", { kind, text, type: "button" });
  made.addEventListener("click", then);
  return made;
}
function prose(html) {
  const made = element("div", { kind: "instructions" });
  made.innerHTML = html; // made safe by the server
  return made;
}

function begin(note) {
  const parts = note ? [element("p", { kind: "warn", text: note })] : [];
  if (campaign.instructions) parts.push(prose(campaign.instructions));
  parts.push(paragraph(target ? filled(words.start_about, { count: target, minutes: minutes(target) }) : words.start_open));
  parts.push(keys(), element("p", { kind: "short-only", text: campaign.ties ? words.start_tap : words.start_tap_two }));
  const start = button(words.start, () => { read(campaign.version); since = 0; show(); });
  if (campaign.consent) {
    const box = element("input", { type: "checkbox", id: "agree" });
    start.disabled = true;
    box.addEventListener("change", () => { start.disabled = !box.checked; });
    parts.push(prose(campaign.consent), element("label", { kind: "line", for: "agree" }, box, words.agree));
  }
  tell(campaign.question, parts, [start]);
}

function keys() {
  const rows = [["←", words.left_better], ["→", words.right_better], ["↓", words.too_close], ["S", words.skip_pair], ["U", words.undo_last], ["?", words.all_keys]];
  const shown = rows.filter(([key]) => key !== "↓" || campaign.ties);
  return element("dl", { kind: "keys long-only" }, ...shown.flatMap(([key, text]) => [element("dt", {}, element("kbd", { text: key })), element("dd", { text })]));
}

const minutes = (count) => (count < 6 ? words.minute : filled(words.minutes, { count: Math.round(count / 4) }));

// A question about the instructions, before the first pair.
function understand(note) {
  const { question, answers } = campaign.comprehension;
  const parts = campaign.instructions ? [prose(campaign.instructions)] : [];
  parts.push(element("h2", { text: question, dir: "auto" }));
  if (note) parts.push(element("p", { kind: "warn", text: note, role: "alert" }));
  const choices = answers.map((text, place) => button(text, async () => {
    try {
      const { right, left } = await ask("POST", "comprehension", { answer: place });
      if (right || !left) start(); else understand(words.wrong);
    } catch (problem) { stopped(problem); }
  }, "button"));
  tell(campaign.title, parts, choices);
}

function rest() {
  tell(words.rest_title, [paragraph(filled(words.rest, { count: answered }))], [button(words.go_on, show)]);
}

function ended(reason) {
  if (["paused", "closed", "draft", "misunderstood"].includes(reason)) {
    const again = button(words.look_again, () => location.reload(), "button");
    tell(words[`${reason}_title`], [paragraph(words[reason])], ["paused", "draft"].includes(reason) ? [again] : []);
    return;
  }
  const parts = answered ? [paragraph(filled(words.done, { count: answered }))] : [];
  if (completion?.code) parts.push(paragraph(words.code), element("p", { kind: "code", text: completion.code }));
  const buttons = [];
  if (completion?.url?.startsWith("https://")) buttons.push(element("a", { kind: "button main", href: completion.url, text: words.return }));
  if (reason === "target") {
    parts.push(paragraph(words.done_more));
    buttons.push(button(words.more, () => { past_end = true; show(); }, "button"));
  } else if (reason === "waiting") {
    parts.push(paragraph(words.done_waiting));
    buttons.push(button(words.look_again, () => location.reload(), "button"));
  } else parts.push(paragraph(words.done_none));
  if (past.length || answered) buttons.push(button(words.undo, undo, "button"));
  if (!trying) buttons.push(element("a", { kind: "button", href: "/j/history", text: words.history }));
  if (trying) buttons.push(element("a", { kind: "button", href: "/o/setup", text: words.back }));
  tell(words.done_title, parts, buttons);
}

function stopped(problem) {
  const known = words[`${problem.code}_title`];
  tell(known ?? words.closed_title, [paragraph(known ? words[problem.code] ?? problem.message : problem.message)]);
}

// Voting

function act(what) {
  if (what === "help") { $("#keys").showModal(); return; }
  if (what === "undo") { undo(); return; }
  if (!current || performance.now() - shown < campaign.min_ms) return;
  if (what === "tie" && !campaign.ties) return;
  if (what === "report") { choose("report", reported); return; }
  if (what === "skip") { choose("skip", (reason) => vote("skip", reason === "skip" ? null : reason)); return; }
  vote(what);
}

function choose(name, then) {
  const dialog = $(`#${name}`), about = current;
  dialog.returnValue = ""; // as Escape and "Cancel" leave it
  dialog.showModal();
  dialog.addEventListener("close", () => { if (dialog.returnValue && current === about) then(dialog.returnValue); }, { once: true });
}

function vote(what, reason) {
  if (outbox.full) { say(words.outbox_full); tell(words.outbox_full, [], [button(words.go_on, show)]); return; }
  const sent = { id: newId(), question: current.id, outcome: OUTCOMES[what], ms: Math.round(performance.now() - shown), version: campaign.version };
  if (reason) sent.reason = reason;
  past.push({ id: sent.id, question: current, counted: what !== "skip" });
  hand.shift();
  if (what !== "skip") { answered += 1; since += 1; }
  say(words[`said_${NARROW.matches ? STACKED[what] ?? what : what}`]);
  if (trying) why = hand.length ? null : "done"; else outbox.add({ vote: sent });
  if (what !== "skip" && !enough() && campaign.break_every && since >= campaign.break_every) { since = 0; rest(); return; }
  show();
}

async function undo() {
  let last = past.pop();
  if (trying) { if (last) { hand.unshift(last.question); answered -= last.counted; show(); } return; }
  if (!last) {
    try { const [row] = await ask("GET", "history?limit=1"); last = row && { id: row.id, question: null, counted: row.outcome !== null }; } catch { last = null; }
  }
  if (!last) { say(words.nothing_to_undo); return; }
  if (last.question) hand = [last.question, ...hand.filter((other) => other.id !== last.question.id)];
  outbox.add({ undo: { id: newId(), of: last.id } });
  answered = Math.max(0, answered - last.counted);
  say(words.said_undo);
  if (last.question) show(); else waiting = !current; // the pair comes with the answer
}

async function reported(side) {
  if (trying) { say(words.said_report); return; }
  try { await ask("POST", "reports", { question: current.id, side, reason: "broken" }); say(words.said_report); }
  catch (problem) { say(problem.message); }
}

// What the server says

function heard(answer) {
  const onTheWay = outbox.questions;
  const first = current ? [current] : [];
  const fresh = answer.questions.filter((question) => !onTheWay.has(question.id) && question.id !== current?.id);
  hand = [...first, ...fresh];
  ({ why, target } = answer);
  completion = answer.completion ?? null;
  if (!outbox.entries.length) answered = answer.answered;
  progress();
  if (waiting) show();
  if (answer.ties !== campaign.ties) lay({ ...campaign, ties: answer.ties });
  if (answer.version > campaign.version) renew();
}

// The organiser has changed the instructions: they are read before the next pair.
async function renew() {
  try { lay((await ask("GET", screen.dataset.source)).campaign); } catch { return; } // the next vote's answer says it again
  if (current) begin(words.changed);
}

function lay(card) {
  campaign = card;
  for (const each of $$("[data-title]")) each.textContent = campaign.title;
  $("#question").textContent = campaign.question;
  document.title = `${campaign.title} · Podium`;
  for (const each of [$("#tie"), ...$$("#keys .tie")]) each.hidden = !campaign.ties;
}

function changed() {
  const count = outbox?.entries.length ?? 0, line = $("#saved");
  const late = count > 0 && (!navigator.onLine || outbox.timer > 0 || count > 3);
  line.classList.toggle("kept", late);
  $("b", line).textContent = late ? filled(words.kept, { count }) : words.saved;
}

function refused(entry, text) {
  say(filled(words.refused, { message: text }));
  const kept = `podium-refused-${who}`;
  try { localStorage.setItem(kept, JSON.stringify([...(JSON.parse(localStorage.getItem(kept)) ?? []), { ...entry, text }].slice(-MOST_REFUSED))); } catch { /* told above */ }
  $("#hint").textContent = filled(words.refused, { message: text });
}
const read = (version) => { try { localStorage.setItem(`podium-read-${who}`, version); } catch { /* asked again next time */ } };
const lastRead = () => { try { return Number(localStorage.getItem(`podium-read-${who}`)); } catch { return 0; } };

// Hands

screen.addEventListener("click", (event) => {
  const pressed = event.target.closest("[data-act]");
  if (pressed) { act(pressed.dataset.act); pressed.blur(); }
});
$("#pair").addEventListener("click", (event) => {
  if (event.target.tagName !== "IMG") return;
  $("#zoom img").src = event.target.src;
  $("#zoom").showModal();
});
$("#zoom").addEventListener("click", () => $("#zoom").close());
document.addEventListener("keydown", (event) => {
  if (event.repeat || $("dialog[open]") || event.target.closest("input, textarea, select, audio, video")) return;
  if (event.ctrlKey && !event.altKey && event.code === "KeyZ") { event.preventDefault(); act("undo"); return; }
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "?" && campaign) { act("help"); return; }
  if (event.code === "Enter" && !message.hidden && !event.target.closest("a, button")) { $(".button.main:not([disabled])", message)?.click(); return; }
  if (!current && event.code !== "KeyU") return;
  if (KEYS[event.code]) { event.preventDefault(); act(KEYS[event.code]); }
});
// A wide table or a line of code is moved by the same finger.
function sideways(from) {
  for (let each = from; each && each.id !== "pair"; each = each.parentElement) {
    if (each.matches("audio, video") || (each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX))) return true;
  }
  return false;
}
let touch = null;
$("#pair").addEventListener("touchstart", (event) => { touch = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
$("#pair").addEventListener("touchend", (event) => {
  const from = touch, to = event.changedTouches[0];
  touch = null;
  if (!from || innerWidth < 700 || sideways(event.target)) return;
  const across = to.clientX - from.clientX, down = Math.abs(to.clientY - from.clientY);
  if (Math.abs(across) > SWIPE && down < SWIPE / 2) act(across < 0 ? "left" : "right");
}, { passive: true });

async function start() {
  tell(words.loading, []);
  try {
    await enterByLink();
    const answer = await ask("GET", screen.dataset.source);
    who = answer.who;
    hand = answer.questions;
    ({ answered, target, why } = answer);
    completion = answer.completion ?? null;
    outbox = new Outbox(who, { heard, changed, refused, stopped });
    hand = hand.filter((question) => !outbox.questions.has(question.id));
    lay(answer.campaign);
    changed();
    if (!trying) outbox.retry();
    if (why === "comprehension") { understand(); return; }
    const known = lastRead();
    if (enough()) show();
    else if (hand.length && !known && answered === 0) begin();
    else if (hand.length && known && known < campaign.version) begin(words.changed);
    else show();
  } catch (problem) {
    if (problem instanceof Refused) { stopped(problem); return; }
    tell(words.loading, [paragraph(String(problem.message))], [button(words.go_on, start)]);
  }
}

addEventListener("hashchange", start);
start();
