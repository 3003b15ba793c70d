// The organiser's link was opened: the secret goes to the server once, then on to the page.

import { $, enterByLink, Refused } from "./common.js";

const page = $("#enter");

function tell(title, words) {
  $("h1", page).textContent = title;
  $("#words").textContent = words;
  document.title = `${title} · Podium`;
}

try {
  const entered = await enterByLink();
  const next = { organiser: "/o/live", operator: "/new/campaign", judge: "/j" }[entered?.role];
  if (next ?? page.dataset.known) location.replace(next ?? page.dataset.next);
  else tell("Open your link", `The part after # is missing here. ${page.dataset.where}`);
} catch (problem) {
  if (problem.code === "unknown-token") tell("This link is not known", page.dataset.where);
  else if (problem instanceof Refused) tell("Not possible now", problem.message);
  else tell("No connection", "The server does not answer. Open the link again when it runs.");
}
