// Requests to the service: JSON in and out, problems as errors, safe repetition.

import { t } from "./language.js";

const PATIENCE_MS = 20_000;
const LONGEST_PAUSE_S = 10;
const WORTH_REPEATING = new Set([408, 425, 429, 502, 503, 504]);

/** A refusal by the service: `status` of the answer, `message` in its words, `retryAfterS` if it gave a time. */
export class Problem extends Error {
  constructor(status, detail, { requestId = "", retryAfterS = null } = {}) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.requestId = requestId;
    this.retryAfterS = retryAfterS;
  }

  /** True if the same request may succeed later. */
  get passing() {
    return WORTH_REPEATING.has(this.status);
  }
}

/** The service could not be reached, or did not answer in time. */
export class Unreachable extends Error {
  constructor(cause) {
    super(t("the service cannot be reached"), { cause });
    this.name = "Unreachable";
    this.passing = true;
  }
}

let aheadMs = 0; // by which this device's clock is ahead of the service's

/** The time by the service's clock, because a device's clock may be wrong by hours. */
export function serverNow() {
  return new Date(Date.now() - aheadMs);
}

function readClock(answer) {
  if (answer.headers.get("Cache-Control")?.includes("max-age")) return; // a copy in the browser's cache keeps its old Date
  const date = Date.parse(answer.headers.get("Date") ?? "");
  // The header has whole seconds, and the answer takes time to arrive.
  if (Number.isFinite(date)) aheadMs = Math.abs(Date.now() - date) < 5_000 ? 0 : Date.now() - date;
}

/** A new idempotency key: 128 random bits. crypto.randomUUID exists on secure origins only. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Send one request and return the answer's JSON.
 *
 * body    sent as JSON; a file is sent as it is
 * key     key of a request that changes something: sent twice, it takes effect once
 * token   used in place of the cookie's
 * accept  "json", "bytes" or "text"
 * tries   number of attempts if repeating is safe: without a body, with a key, or if `repeatable`
 *
 * @param {string} path
 * @param {{method?: string, body?: any, key?: string, token?: string, accept?: string, patienceMs?: number, signal?: AbortSignal, tries?: number, repeatable?: boolean}} [options]
 */
export async function ask(path, options = {}) {
  const { method = options.body === undefined ? "GET" : "POST", body, key, tries = 3, repeatable } = options;
  const safe = repeatable || key || method === "GET";
  for (let tried = 1; ; tried++) {
    try {
      return await once(path, { ...options, method, body, key });
    } catch (error) {
      const pauseS = error.retryAfterS ?? 0.4 * 2 ** tried;
      // Nobody should wait a minute before a silent page: whoever asked says why, and offers to try again.
      if (!error.passing || !safe || tried >= tries || pauseS > LONGEST_PAUSE_S || options.signal?.aborted) throw error;
      await wait(pauseS * 1000);
    }
  }
}

export const get = (path, options = {}) => ask(path, options);
export const post = (path, body = {}, options = {}) => ask(path, { ...options, body });

async function once(path, options) {
  const { method, body, key, token, accept = "json", patienceMs = PATIENCE_MS, signal } = options;
  const headers = new Headers();
  const file = body instanceof Blob;
  if (body !== undefined) headers.set("Content-Type", file ? "application/octet-stream" : "application/json");
  if (key) headers.set("Idempotency-Key", key);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const patience = AbortSignal.timeout(patienceMs);
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined || file ? body : JSON.stringify(body),
      credentials: "same-origin",
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    });
    readClock(answer);
    if (answer.ok) return await read(answer, accept);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable(error);
  }
  throw await problem(answer);
}

function read(answer, accept) {
  if (accept === "bytes") return answer.arrayBuffer();
  return accept === "text" ? answer.text() : answer.json();
}

async function problem(answer) {
  const said = await answer.json().catch(() => ({}));
  const seconds = Number.parseFloat(answer.headers.get("Retry-After") ?? "");
  return new Problem(answer.status, said.detail ?? t("the service answered {status}", { status: answer.status }), {
    requestId: said.request_id ?? answer.headers.get("X-Request-ID") ?? "",
    retryAfterS: Number.isFinite(seconds) ? seconds : null,
  });
}

/**
 * A part of a page, as a function that shows the answer to a request, unless a later one was shown before it came or
 * something else was asked; the error of a request is thrown if it is the last.
 *
 * The function takes the request, what shows its answer, and what is asked, if that changes.
 */
export function latest() {
  let [asked, shown, current] = [0, 0, null];
  return async (request, show, about = null) => {
    const mine = ++asked;
    current = about;
    let found;
    try {
      found = await request;
    } catch (error) {
      if (mine !== asked) return;
      throw error;
    }
    if (about !== current || mine < shown) return;
    shown = mine;
    await show(found);
  };
}

/** A promise fulfilled after this many milliseconds. */
export function wait(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

/** The caller: `{name, role, collection, open}`, or null if the service needs a token, or another one. */
export async function session() {
  try {
    const who = await get("/v1/session");
    return who.role === null ? null : who;
  } catch (error) {
    if (error.status === 401) return null;
    throw error;
  }
}

/** Owner of a token, in the form of `session`; an error if it belongs to nobody. */
export const whose = (token) => get("/v1/session", { token });

/** Keep a token in a cookie that scripts cannot read; returns the same as `session`. */
export const logIn = (token) => post("/v1/session", { token });

export const logOut = () => ask("/v1/session", { method: "DELETE" });

/** An invitation, #token=... or #name=..., removed from the address to keep it out of the history; null for missing
parts. */
export function takeInvitation() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const [token, name] = [fragment.get("token"), fragment.get("name")];
  if (token !== null || name !== null) history.replaceState(null, "", location.pathname + location.search);
  return { token, name };
}
