// The organiser's link was opened: the secret goes to the server once, then on to the page.

import { $, enterByLink } from "./common.js";

const page = $("#enter");
try {
  const entered = await enterByLink();
  const next = { organiser: "/o/live", operator: "/new/campaign", judge: "/j" }[entered?.role];
  if (next ?? page.dataset.known) location.replace(next ?? page.dataset.next);
  else $("#words").textContent = "Open the organiser's link again: the part after # is missing.";
} catch (problem) {
  $("#words").textContent = problem.message;
}
