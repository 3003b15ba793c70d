// Changing an earlier vote: an undo and a new vote.

import { $, $$, ask, newId } from "./common.js";

for (const row of $$(".past > li")) {
  row.addEventListener("click", async (event) => {
    const chosen = event.target.closest("[data-outcome]");
    if (!chosen) return;
    chosen.disabled = true;
    try {
      await ask("POST", "undo", { id: newId(), of: row.dataset.id });
      const vote = { id: newId(), question: Number(row.dataset.question), outcome: JSON.parse(chosen.dataset.outcome) };
      const { receipts } = await ask("POST", "votes", { votes: [vote] });
      if (receipts[0].status === "refused") throw new Error(receipts[0].message);
      location.reload();
    } catch (problem) {
      const note = $("#problems");
      note.textContent = problem.message;
      note.hidden = false;
      chosen.disabled = false;
    }
  });
}
