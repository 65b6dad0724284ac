// The live page: asks llmload once a second what is going on, and shows it. All text goes in as text, never as markup.

import { Charts } from "./charts.js";
import { Past } from "./past.js";
import * as tables from "./tables.js";
import { asks, count, failures, level, moment, parts, span, sum, told } from "./words.js";

const EVERY_MS = 1000;
const SLOW_MS = 2000; // when nothing runs
const PATIENCE_MS = 10000;
const LONG_MS = 60000; // after a longer pause all is asked for anew: the server has merged what came meanwhile

const here = location.pathname.replace(/\/+$/, "");
const by = (id) => document.getElementById(id);
const hide = (element, yes) => element.toggleAttribute("hidden", yes);
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const page = { past: new Past(), run: undefined, workload: "all", answer: null, answeredAt: 0, silentSince: null, timer: 0, asking: false };
const charts = new Charts((group) => document.querySelector(`[data-charts="${group}"]`));

// Asking

async function ask() {
  clearTimeout(page.timer);
  if (page.asking || document.hidden) return;
  page.asking = true;
  let wait = EVERY_MS;
  try {
    const long = performance.now() - page.answeredAt > LONG_MS;
    let answer = await fetched(long ? 0 : page.past.last);
    if (long) page.past = new Past();
    if (answer.run !== page.run) {
      if (page.past.last) answer = await fetched(0);
      page.past = new Past();
      page.run = answer.run;
      if (!["all", ...(answer.classes ?? [])].includes(page.workload)) page.workload = "all";
    }
    if (answer.history?.t) page.past.take(answer.history);
    page.answer = answer;
    page.answeredAt = performance.now();
    page.silentSince = null;
    wait = answer.state === "running" || answer.state === "starting" ? EVERY_MS : SLOW_MS;
  } catch (error) {
    page.silentSince ??= Date.now() / 1000;
    page.trouble = error.message;
    wait = SLOW_MS;
  } finally {
    page.asking = false;
  }
  show();
  page.timer = setTimeout(ask, wait);
}

async function fetched(since) {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`${here}/live?since=${since}`, { cache: "no-store", signal: limit });
  if (answer.redirected || answer.status === 401 || answer.status === 403) throw new Error("login");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

// Showing

function show() {
  silent();
  if (!page.answer) return;
  const answer = { rows: [], workers: [], classes: [], marks: [], reasons: [], ...page.answer };
  head(answer);
  empty(answer);
  const any = Boolean(answer.run);
  hide(by("whole"), !any);
  if (!any) return;
  choice(answer);
  now(answer);
  charts.show(page.past, page.workload, answer.marks, answer.started_at ?? page.past.t[0] ?? 0);
  put(by("marks"), tables.steps(by("steps"), answer, page.workload));
  tables.failed(by("failures"), answer, page.workload);
  put(by("balance"), tables.balance(answer.totals));
  tables.workers(by("workers"), answer);
  by("whole").dataset.points = page.past.t.length; // how much is held, for whoever wonders
}

function silent() {
  const gone = page.silentSince !== null;
  hide(by("silent"), !gone);
  by("whole").classList.toggle("stale", gone);
  if (!gone) return;
  const words = page.trouble === "login"
    ? "llmload wants you to log in again: open Locust's page, log in, and come back."
    : `No answer from llmload since ${moment(page.silentSince)}; trying again.` + (page.answer ? " What stands here is from before." : "");
  put(by("silent"), words);
}

const STATES = { idle: "no run", starting: "starting", running: "running", ended: "ended" };

function head(answer) {
  const { state, step } = answer;
  put(by("run"), answer.run ?? "No run yet");
  const kinds = { steps: "steps of requests in flight", rate: "requests by rate", hand: "set by hand" };
  const about = [answer.scenario && `scenario ${answer.scenario}`, kinds[answer.kind], answer.model && `model ${answer.model}`, answer.host];
  put(by("about"), about.filter(Boolean).join(" · "));
  put(by("state"), STATES[state] ?? state);
  hide(by("state"), state === "idle");
  by("state").className = `pill ${state}`;
  put(by("verdict"), answer.verdict ?? "");
  by("verdict").className = `pill ${answer.verdict ?? ""}`;
  hide(by("verdict"), !answer.verdict);
  const running = state === "running" && step;
  document.title = `${running ? `${asks(step)} · ` : ""}${answer.run ?? STATES[state]} · llmload`;
  put(by("doing"), doing(answer));
  const end = answer.ended_at ?? answer.now;
  put(by("gone"), answer.started_at && state !== "idle" ? span(end - answer.started_at) : "");
  put(by("locust"), state === "running" || state === "starting" ? "Edit, stop in Locust" : "Start in Locust");
  reasons(answer);
  files(answer);
}

const PHASES = { warmup: "warm-up", measure: "measuring", drain: "drain", done: "over" };

function doing({ state, step, verdict, now: moment }) {
  if (state === "ended" && !verdict) return "the report is being made";
  if (state === "starting") return "looking at the endpoint and getting the workers ready";
  if (state !== "running" || !step) return "";
  const gone = step.phase === "measure" && step.window_s !== null ? step.window_s : step.phase_since ? moment - step.phase_since : null;
  const since = gone === null ? "" : ` for ${span(gone)}`;
  return `step ${step.index + 1} · ${asks(step)} · ${PHASES[step.phase] ?? step.phase}${since}`;
}

function reasons(answer) {
  const box = by("reasons");
  const told = answer.reasons ?? [];
  hide(box, !told.length);
  put(box.querySelector("h2"), answer.state !== "idle" ? "Why" : answer.run ? "It did not start; below is the run before" : "It did not start");
  box.className = `notice ${answer.verdict === "INCOMPLETE" || answer.state === "idle" ? "bad" : answer.verdict === "DEGRADED" ? "warn" : ""}`;
  const list = box.querySelector("ul");
  if (list.dataset.text === told.join("\n")) return;
  list.dataset.text = told.join("\n");
  list.replaceChildren(...told.map((reason) => element("li", reason)));
}

function files(answer) {
  hide(by("files"), !answer.run);
  put(by("so-far"), answer.state === "running" ? "Download so far" : "Download");
  for (const link of by("files").querySelectorAll("a")) {
    const address = `${here}/runs/${encodeURIComponent(answer.run ?? "")}/${link.dataset.file}`;
    if (link.getAttribute("href") !== address) link.href = address;
  }
}

// No run, or none that has sent anything: what to do.
function empty(answer) {
  const box = by("empty");
  hide(box, Boolean(answer.run));
  if (answer.run || box.dataset.state === answer.state) return;
  box.dataset.state = answer.state;
  if (answer.state === "starting") {
    box.replaceChildren(element("h2", "Starting"), element("p", "At most three requests find out what the endpoint takes. Figures come as soon as the first request has ended."));
    return;
  }
  const link = element("a", "Go to the start form");
  link.href = "./";
  link.className = "button";
  box.replaceChildren(
    element("h2", "Nothing is running"),
    element("p", "Choose a scenario and a host in Locust's form and press Start. This page then shows first tokens, gaps, failures and each step as it goes; leave it open."),
    link,
  );
}

function choice(answer) {
  const box = by("classes");
  const names = answer.classes.length > 1 ? ["all", ...answer.classes] : [];
  hide(box, !names.length);
  if (box.dataset.names !== names.join("\n")) {
    box.dataset.names = names.join("\n");
    box.replaceChildren(...names.map((name) => {
      const button = element("button", name === "all" ? "whole mix" : name);
      button.type = "button";
      button.dataset.workload = name;
      button.addEventListener("click", () => {
        page.workload = name;
        show();
      });
      return button;
    }));
  }
  for (const button of box.children) button.setAttribute("aria-pressed", button.dataset.workload === page.workload);
}

// The big figures.
function now(answer) {
  const running = answer.state === "running";
  hide(by("now"), !running);
  if (!running) return;
  const last = answer.last10s?.[page.workload] ?? {};
  const { step } = answer;
  const of = (measure, percentile) => last[measure]?.[percentile] ?? null;
  const failing = last.outcomes ? sum(failures(last.outcomes)) : null;
  big("in_flight", answer.in_flight, "count");
  const byRate = typeof step?.rate === "number";
  say("target", byRate ? `at ${level(step)}` : typeof step?.concurrency === "number" ? `of ${count(step.concurrency)}` : "");
  say("users", answer.users === null || answer.users === undefined ? "" : `${count(answer.users)} users`);
  big("ttft_p50", of("ttft_ms", "p50"), "ms");
  say("ttft_p95", after("p95", told(of("ttft_ms", "p95"), "ms")));
  big("itl_p50", of("itl_ms", "p50"), "ms");
  say("itl_p99", after("p99", told(of("itl_ms", "p99"), "ms")));
  big("e2e_p50", of("e2e_ms", "p50"), "ms as s");
  say("e2e_p95", after("p95", told(of("e2e_ms", "p95"), "ms as s")));
  big("tokens", last.output_tokens_per_s ?? null, "");
  say("requests", after("", told(last.requests_per_s ?? null, "requests/s")));
  big("failed", failing, "count");
  by("failing").classList.toggle("some", failing > 0);
  const { failed, ok } = answer.totals ?? {};
  say("failed_all", failed === undefined || failed === null ? "" : `${count(failed)} of ${count(failed + ok)} so far`);
}

const after = (name, text) => (text ? `${name} ${text}`.trim() : "");
const say = (name, text) => put(document.querySelector(`[data-now="${name}"]`), text);

function big(name, value, unit) {
  const place = document.querySelector(`[data-now="${name}"]`);
  const [text, its] = parts(value, unit);
  if (place.textContent === text + its) return;
  place.replaceChildren(text, ...(its ? [element("i", its)] : []));
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

by("log").addEventListener("change", (event) => charts.logarithmic(event.target.checked));
document.addEventListener("visibilitychange", ask); // hidden: it stops by itself; back: it catches up at once
ask();
