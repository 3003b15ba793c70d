// Votes on their way: kept in the browser until the server says they are on disk, sent in order, never twice.

import { ask, Refused } from "./common.js";

export const MOST = 200;
const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;

export class Outbox {
  // who: whose votes these are; heard(answer): after each answer; changed(): whenever something came or went;
  // refused(entry, message): will never succeed; stopped(problem): the link or the campaign takes nothing any more.
  constructor(who, { heard, changed, refused, stopped }) {
    this.key = `podium-outbox-${who}`;
    this.entries = this.read();
    Object.assign(this, { heard, changed, refused, stopped });
    this.wait = FIRST_WAIT;
    this.sending = false;
    this.single = false; // one by one, to find the entry that is refused
    this.timer = 0;
    addEventListener("online", () => this.retry());
    addEventListener("storage", (event) => { if (event.key === this.key && !this.sending) { this.entries = this.read(); this.changed(); } });
  }
  read() {
    try { return JSON.parse(localStorage.getItem(this.key)) ?? []; } catch { return []; }
  }
  write() {
    try { localStorage.setItem(this.key, JSON.stringify(this.entries)); } catch { /* private window: kept in memory */ }
    this.changed();
  }
  get full() { return this.entries.length >= MOST; }
  get questions() { return new Set(this.entries.filter((entry) => entry.vote).map((entry) => entry.vote.question)); }
  add(...entries) {
    this.entries.push(...entries);
    this.write();
    this.retry();
  }
  retry() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.wait = FIRST_WAIT;
    this.send();
  }
  // The first entries that can go together: votes up to the next undo, or one undo.
  first() {
    if (this.entries[0].undo || this.single) return this.entries.slice(0, 1);
    const end = this.entries.findIndex((entry) => entry.undo);
    return this.entries.slice(0, Math.min(end < 0 ? MOST : end, MOST));
  }
  async send() {
    if (this.sending || !this.entries.length) return;
    this.sending = true;
    const batch = this.first();
    try {
      const answer = batch[0].undo
        ? await ask("POST", "undo", batch[0].undo)
        : await ask("POST", "votes", { votes: batch.map((entry) => entry.vote) });
      this.drop(batch.length);
      this.single = false;
      (answer.receipts ?? []).forEach((receipt, k) => { if (receipt.status === "refused") this.refused(batch[k], receipt.message); });
      this.wait = FIRST_WAIT;
      this.heard(answer);
    } catch (problem) {
      this.failed(problem, batch);
    } finally {
      this.sending = false;
    }
    if (this.entries.length && !this.timer) this.send();
  }
  drop(count) {
    this.entries.splice(0, count);
    this.write();
  }
  failed(problem, batch) {
    const final = problem instanceof Refused && problem.status >= 400 && problem.status < 500 && problem.status !== 429;
    if (final && (problem.status === 401 || problem.status === 403)) { this.later(LONGEST_WAIT); this.stopped(problem); return; }
    if (final && batch.length === 1) { this.drop(1); this.refused(batch[0], problem.message); return; }
    if (final) { this.single = true; return; }
    this.later(problem.wait ? problem.wait * 1000 : this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    this.changed();
  }
  later(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.timer = 0; this.send(); }, ms * (0.75 + 0.5 * Math.random()));
  }
}
