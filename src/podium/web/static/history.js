// Changing an earlier vote: an undo and a new vote, on their way together like any other.

import { $, $$, filled, newId } from "./common.js";
import { Outbox } from "./outbox.js";

const list = $(".past"), note = $("#problems");
const words = JSON.parse(list.dataset.words);
let changing = false, problem = "";

function tell(text) {
  note.textContent = text;
  note.hidden = false;
  note.scrollIntoView({ block: "nearest" });
}
const outbox = new Outbox(list.dataset.who, {
  heard() { if (changing && !outbox.entries.length && !problem) location.reload(); },
  changed() { if (changing && outbox?.timer) tell(filled(words.kept, { count: outbox.entries.length })); },
  refused(_, text) { problem = text; tell(filled(words.refused, { message: text })); },
  stopped(refusal) { problem = refusal.message; tell(problem); },
});

for (const row of $$(".past > li")) {
  const change = $("[data-change]", row), choices = $(".change", row);
  const open = (yes) => { choices.hidden = !yes; change.setAttribute("aria-expanded", String(yes)); };
  change?.addEventListener("click", () => { open(choices.hidden); if (!choices.hidden) $("button", choices).focus(); });
  choices?.addEventListener("click", (event) => {
    if (event.target.closest("[data-keep]")) { open(false); change.focus(); return; }
    const chosen = event.target.closest("[data-outcome]");
    if (!chosen) return;
    for (const each of $$("button", choices)) each.disabled = true;
    changing = true;
    const vote = { id: newId(), question: Number(row.dataset.question), outcome: JSON.parse(chosen.dataset.outcome) };
    outbox.add({ undo: { id: newId(), of: row.dataset.id } }, { vote });
  });
}
