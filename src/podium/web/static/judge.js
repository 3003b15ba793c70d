// Judging: one key decides, the next pair is there at once, nothing is lost.

import { $, ask, element, enterByLink, filled, newId, Refused } from "./common.js";
import { Outbox } from "./outbox.js";

const screen = $("#judging"), message = $("#message");
const words = JSON.parse(screen.dataset.words);
const trying = Boolean(screen.dataset.trying);
const cards = { left: $("#left"), right: $("#right") };
// Keys go by position (event.code), so other keyboards work.
const KEYS = { ArrowLeft: "left", Digit1: "left", Numpad1: "left", ArrowRight: "right", Digit2: "right", Numpad2: "right", ArrowDown: "tie", KeyT: "tie", KeyS: "skip", KeyU: "undo", KeyF: "report" };
const OUTCOMES = { left: 1, right: 0, tie: 0.5, skip: null };
const SWIPE = 90; // pixels
const MOST_REFUSED = 200; // votes that were not taken, kept for the record

let campaign, who, outbox, hand = [], past = [], answered = 0, target = null, why = null, completion = null;
let shown = 0, current = null, since = 0, past_end = false, waiting = false;

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
  if (view.media) text.prepend(media(view, words[side]));
  text.classList.toggle("seen", Boolean(view.media));
  text.scrollTop = 0;
  cards[side].classList.remove("chosen", "passed");
}

function preload() {
  for (const question of hand.slice(1)) {
    for (const view of [question.left, question.right]) if (view.media && view.kind === "image") new Image().src = view.media;
  }
}

function progress() {
  $("#count").textContent = answered + (current ? 1 : 0);
  $("#target").textContent = target ? `${words.of_about} ${target}` : words.so_far;
  $("#filled").setAttribute("width", `${target ? Math.min(100, (100 * answered) / target) : 0}%`);
}

function show() {
  current = hand[0] ?? null;
  progress();
  if (!current) { waitOrEnd(); return; }
  message.hidden = true;
  screen.hidden = false;
  waiting = false;
  fill("left", current.left);
  fill("right", current.right);
  $("#hint").textContent = current.repeat ? words.repeat : "";
  shown = performance.now();
  preload();
}

// Without a pair: the end, or what is on its way brings the next one.
function waitOrEnd() {
  if (why && !outbox.entries.length) { ended(why); return; }
  tell(outbox.entries.length ? filled(words.kept, { count: outbox.entries.length }) : words.loading, []);
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

function begin() {
  const parts = [];
  if (campaign.instructions) parts.push(prose(campaign.instructions));
  parts.push(paragraph(target ? filled(words.start_about, { count: target, minutes: Math.max(1, Math.round(target / 4)) }) : words.start_open));
  parts.push(paragraph(filled(words.start_keys, { tie: campaign.ties ? words.start_tie : "" })));
  const start = button(words.start, () => { remember("started"); since = 0; show(); });
  if (campaign.consent) {
    const box = element("input", { type: "checkbox", id: "agree" });
    start.disabled = true;
    box.addEventListener("change", () => { start.disabled = !box.checked; });
    parts.push(prose(campaign.consent), element("label", { kind: "line", for: "agree" }, box, words.agree));
  }
  tell(campaign.question, parts, [start]);
}

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
  if (["paused", "closed", "draft", "misunderstood"].includes(reason)) { tell(words[`${reason}_title`], [paragraph(words[reason])]); return; }
  const parts = [paragraph(filled(words.done, { count: answered }))];
  if (completion?.code) parts.push(paragraph(words.code), element("p", { kind: "code", text: completion.code }));
  const buttons = [];
  if (completion?.url?.startsWith("https://")) buttons.push(element("a", { kind: "button main", href: completion.url, text: words.return }));
  if (reason === "target") {
    parts.push(paragraph(words.done_more));
    buttons.push(button(words.more, () => { past_end = true; show(); }, "button"));
  } else parts.push(paragraph(words.done_none));
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
  if (what === "skip") { choose("skip", (reason) => vote("skip", reason)); return; }
  vote(what);
}

function choose(name, then) {
  const dialog = $(`#${name}`), about = current;
  dialog.returnValue = "cancel";
  dialog.showModal();
  dialog.addEventListener("close", () => { if (dialog.returnValue !== "cancel" && current === about) then(dialog.returnValue); }, { once: true });
}

function vote(what, reason) {
  if (outbox.full) { say(words.full); tell(words.full, [], [button(words.go_on, show)]); return; }
  const sent = { id: newId(), question: current.id, outcome: OUTCOMES[what], ms: Math.round(performance.now() - shown) };
  if (reason) sent.reason = reason;
  past.push({ id: sent.id, question: current });
  hand.shift();
  if (what !== "skip") { answered += 1; since += 1; }
  say(words[`said_${what}`]);
  if (trying) why = hand.length ? null : "done"; else outbox.add({ vote: sent });
  if (what !== "skip" && target && answered === target && !past_end) { progress(); ended("target"); return; }
  if (what !== "skip" && campaign.break_every && since >= campaign.break_every) { since = 0; rest(); return; }
  show();
}

async function undo() {
  let last = past.pop();
  if (trying) { if (last) { hand.unshift(last.question); answered = Math.max(0, answered - 1); show(); } return; }
  if (!last) {
    try { const [row] = await ask("GET", "history?limit=1"); last = row && { id: row.id, question: null, outcome: row.outcome }; } catch { last = null; }
  }
  if (!last) { say(words.nothing_to_undo); return; }
  if (last.question) hand = [last.question, ...hand.filter((other) => other.id !== last.question.id)];
  outbox.add({ undo: { id: newId(), of: last.id } });
  answered = Math.max(0, answered - 1);
  say(words.said_undo);
  if (last.question) show();
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
const remember = (what) => { try { localStorage.setItem(`podium-${what}-${who}`, "1"); } catch { /* asked again next time */ } };
const remembered = (what) => { try { return localStorage.getItem(`podium-${what}-${who}`) === "1"; } catch { return false; } };

// Hands

screen.addEventListener("click", (event) => {
  const pressed = event.target.closest("[data-act]");
  if (pressed) { act(pressed.dataset.act); pressed.blur(); }
});
document.addEventListener("keydown", (event) => {
  if (event.repeat || $("dialog[open]") || event.target.closest("input, textarea, select, audio, video")) return;
  if (event.ctrlKey && !event.altKey && event.code === "KeyZ") { event.preventDefault(); act("undo"); return; }
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "?") { act("help"); return; }
  if (!current && event.code !== "KeyU") return;
  if (KEYS[event.code]) { event.preventDefault(); act(KEYS[event.code]); }
});
let touch = null;
$("#pair").addEventListener("touchstart", (event) => { touch = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
$("#pair").addEventListener("touchend", (event) => {
  const from = touch, to = event.changedTouches[0];
  touch = null;
  if (!from || innerWidth < 700) return;
  const across = to.clientX - from.clientX, down = Math.abs(to.clientY - from.clientY);
  if (Math.abs(across) > SWIPE && down < SWIPE / 2) act(across < 0 ? "left" : "right");
}, { passive: true });

async function start() {
  tell(words.loading, []);
  try {
    await enterByLink();
    const answer = await ask("GET", screen.dataset.source);
    campaign = answer.campaign;
    who = answer.who;
    hand = answer.questions;
    ({ answered, target, why } = answer);
    completion = answer.completion ?? null;
    outbox = new Outbox(who, { heard, changed, refused, stopped });
    hand = hand.filter((question) => !outbox.questions.has(question.id));
    $("#title").textContent = campaign.title;
    $("#question").textContent = campaign.question;
    document.title = `${campaign.title} · Podium`;
    $("#tie").hidden = !campaign.ties;
    changed();
    if (!trying) outbox.retry();
    past_end = Boolean(target && answered >= target);
    if (why === "comprehension") { understand(); return; }
    if (hand.length && !remembered("started") && answered === 0) begin(); else show();
  } catch (problem) {
    if (problem instanceof Refused) { stopped(problem); return; }
    tell(words.loading, [paragraph(String(problem.message))], [button(words.go_on, start)]);
  }
}

addEventListener("hashchange", start);
start();
