// What every page needs: asking the server, making elements, ids.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// A problem that the server put into words.
export class Refused extends Error {
  constructor(status, body, wait) {
    super(body?.message ?? `the server answered ${status}`);
    this.status = status;
    this.code = body?.code ?? "failed";
    this.wait = wait;
  }
}

// Ask the API; a network failure is a TypeError, a refusal a Refused.
export async function ask(method, path, body) {
  const options = { method, headers: {}, credentials: "same-origin", cache: "no-store" };
  if (method !== "GET") options.headers["X-Podium"] = "1";
  if (body instanceof FormData) options.body = body;
  else if (method !== "GET") {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body ?? {});
  }
  const answer = await fetch(path.startsWith("/") ? path : `/api/v1/${path}`, options);
  const type = answer.headers.get("Content-Type") ?? "";
  const value = type.startsWith("application/json") ? await answer.json() : null;
  if (!answer.ok) throw new Refused(answer.status, value, Number(answer.headers.get("Retry-After")) || 0);
  return value;
}

// An element with a class, text and children; text is never markup.
export function element(name, { kind = "", text = "", ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const filled = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// An id nobody else makes, also where the page is not on TLS.
export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The secret of a link is in its fragment. It is sent once, and gone from the address at once.
export async function enterByLink() {
  const token = location.hash.slice(1);
  if (!token) return null;
  const parameters = Object.fromEntries([...new URLSearchParams(location.search)].filter(([, value]) => value.length <= 200).slice(0, 50));
  history.replaceState(null, "", location.pathname);
  return ask("POST", "session", { token, parameters });
}
