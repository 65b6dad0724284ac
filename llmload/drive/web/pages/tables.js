// The tables of the page: the steps row by row, what failed, the workers. Figures come in as the report's rows.
// Text from outside (names, errors) only ever becomes text.

import { count, failures, level, number, percent, seconds, SPACE, sum } from "./words.js";

const MOST_LINES = 200;

const MARKS = {
  "*": "p95 of fewer than 100",
  "†": "p99 of fewer than 500; under 100 none is shown",
  "~": "tokens estimated, or counted in different ways",
  "‡": "the load generator was the limit: no figure of the server",
  "≈": "from a sketch, within 1 %",
};

// Group, heading, how it is written, figure of an ended step, figure of the running one.
const COLUMNS = [
  ["requests", "ok", count, (row) => row.ok, (now) => now.outcomes?.ok ?? (now.outcomes ? 0 : null)],
  ["requests", "fail", count, (row) => row.failed, (now) => (now.outcomes ? sum(failures(now.outcomes)) : null), "bad"],
  ["requests", "not sent", count, (row) => row.not_sent, (now) => (now.outcomes ? now.outcomes.not_sent ?? 0 : null), "bad"],
  ["requests", "lost", count, (row) => row.lost, () => null, "bad"],
  ["TTFT ms", "p50", number, (row) => row.ttft_ms?.ok, (now) => now.ttft_ms, "p50"],
  ["TTFT ms", "p95", number, (row) => row.ttft_ms?.ok, (now) => now.ttft_ms, "p95"],
  ["TTFT ms", "p95 all", number, (row) => row.ttft_ms?.all, () => null, "p95"],
  ["ITL ms", "p50", number, (row) => row.itl_ms?.ok, (now) => now.itl_ms, "p50"],
  ["ITL ms", "p99", number, (row) => row.itl_ms?.ok, (now) => now.itl_ms, "p99"],
  ["TPOT ms", "p50", number, (row) => row.tpot_ms?.ok, (now) => now.tpot_ms, "p50"],
  ["E2E s", "p50", seconds, (row) => row.e2e_ms?.ok, (now) => now.e2e_ms, "p50"],
  ["E2E s", "p95", seconds, (row) => row.e2e_ms?.ok, (now) => now.e2e_ms, "p95"],
  ["tokens/s", "all", number, (row) => row.output_tokens_per_s, (now) => now.output_tokens_per_s],
  ["tokens/s", "user", number, (row) => row.output_tokens_per_s_per_user, () => null],
  ["stalls", "/1000", number, (row) => row.stalls_per_1000_gaps, (now) => now.stalls_per_1000_gaps],
  ["ok", "%", percent, (row) => row.success_share, () => null],
];

export function steps(table, answer, workload) {
  const several = answer.classes.length > 1;
  const wanted = (name) => (workload === "all" ? name === "all" || several : name === workload);
  const brief = answer.marks.filter((mark) => typeof mark.left_after_s === "number");
  const rows = [...answer.rows.filter((row) => wanted(row.workload)), ...brief].sort((one, other) => one.step - other.step);
  const bound = new Set(answer.rows.filter((row) => row.generator?.bound).map((row) => row.step));
  const used = new Set();
  const lines = rows.slice(-MOST_LINES).map((row, at, all) =>
    "left_after_s" in row ? left(row, answer.held_s) : ended(row, at === 0 || all[at - 1].step !== row.step, bound, used));
  const step = answer.step;
  if (answer.state === "running" && step && answer.step_so_far && !answer.rows.some((row) => row.step === step.index)) {
    const names = [...answer.classes, "all"].filter((name) => wanted(name) && answer.step_so_far[name]);
    names.forEach((name, at) => lines.push(running(step, name, answer.step_so_far, at === 0, used)));
  }
  head(table, [["", answer.kind === "rate" ? "rate" : "in flight"], ["", "class", "word"], ...COLUMNS]);
  body(table, lines, COLUMNS.length + 2, "The first row comes when a step is over.");
  const cut = rows.length > MOST_LINES ? [`only the newest ${MOST_LINES} lines are shown; the CSV has them all`] : [];
  const live = lines.length && lines[lines.length - 1].className.includes("running") ? ["the last lines are of the step that is running, its measured requests so far"] : [];
  return [...Object.keys(MARKS).filter((sign) => used.has(sign)).map((sign) => `${sign} ${MARKS[sign]}`), ...live, ...cut].join(" · ");
}

function ended(row, first, bound, used) {
  const line = tr({ first, all: row.workload === "all", bound: bound.has(row.step) });
  line.dataset.step = row.step;
  line.dataset.workload = row.workload;
  line.append(td(first ? level(row) : "", bound.has(row.step) && first ? "‡" : "", "", used), td(row.workload, "", "word"));
  for (const [group, , write, figure, , extra] of COLUMNS) {
    let value = figure(row);
    let sign = "";
    if (/^p\d/.test(extra ?? "")) {
      sign = mark(extra, value?.n);
      value = value?.[extra];
    }
    const estimated = ["events", "mixed"].includes(row.token_source) && ["tokens/s", "TPOT ms"].includes(group) ? "~" : "";
    line.append(cell(value, write, sign + estimated, extra, used));
  }
  return line;
}

// By hand, a level that was left too early.
function left(mark, held) {
  const line = tr({ first: true, brief: true });
  const s = (value) => `${Math.floor(value * 10) / 10}${SPACE}s`;
  const when = mark.left_after_s > 0 ? `after ${s(mark.left_after_s)} of measuring` : "before measuring began";
  const words = td(`no row: left ${when}, and a row takes ${s(held)}`, "", "word");
  words.colSpan = COLUMNS.length + 1;
  line.dataset.step = mark.step;
  line.append(td(level(mark)), words);
  return line;
}

function running(step, name, soFar, first, used) {
  const now = soFar[name];
  const line = tr({ first, all: name === "all", running: true });
  line.dataset.step = step.index;
  line.dataset.workload = name;
  line.append(td(first ? level(step) : "", "", "", used), td(name, "", "word"));
  for (const [, , write, , figure, extra] of COLUMNS) {
    const value = figure(now);
    const percentile = /^p\d/.test(extra ?? "");
    const sketched = percentile && now.sketched ? "≈" : "";
    const sign = percentile ? mark(extra, value?.n) : "";
    line.append(cell(percentile ? value?.[extra] : value, write, sign + sketched, extra, used));
  }
  return line;
}

function mark(percentile, n) {
  if (n === null || n === undefined) return "";
  if (percentile === "p95" && n < 100) return "*";
  return percentile === "p99" && n < 500 ? "†" : "";
}

function cell(value, write, signs, extra, used) {
  const text = write(value);
  return td(text, text ? signs : "", extra === "bad" && value > 0 ? "bad" : "", used);
}

export function failed(table, answer, workload) {
  const recent = answer.last10s?.[workload]?.outcomes ?? {};
  const total = failures(answer.totals?.outcomes).sort((one, other) => other[1] - one[1]);
  head(table, [["", "outcome", "word"], ["", "run"], ["", `last 10 s${workload === "all" ? "" : ` (${workload})`}`]]);
  body(table, total.map(([name, n]) => {
    const line = tr({ first: true });
    line.append(td(name.replaceAll("_", " "), "", "word"), td(count(n), "", "bad"), td(count(recent[name] ?? 0)));
    return line;
  }), 3, "Nothing has failed.");
}

// The sum that has to come out even: nothing may be missing.
export function balance(totals) {
  if (!totals) return "";
  const some = [["ok", totals.ok], ["failed", totals.failed], ["cut by the end of a step or run", totals.cancelled], ["lost", totals.lost]];
  const told = some.filter(([name, n]) => n || name === "ok").map(([name, n]) => `${count(n)} ${name}`);
  const ended = some.reduce((all, [, n]) => all + (n ?? 0), 0);
  if (totals.started > ended) told.push(`${count(totals.started - ended)} not ended or not told yet`);
  const late = totals.not_sent ? `; ${count(totals.not_sent)} more could not be sent in time` : "";
  return `${count(totals.started)} requests started: ${told.join(", ")}${late}.`;
}

const WORKERS = [
  ["CPU %", (one) => percent(one.cpu), (one) => one.cpu > 0.9],
  ["loop lag ms", (one) => number(one.loop_lag_p99_ms)],
  ["stamp lag ms", (one) => number(one.stamp_lag_ms)],
  ["streams", (one) => count(one.streams)],
  ["events/s", (one) => number(one.events_per_s)],
  ["clock ms", (one) => clock(one)],
];

export function workers(table, answer) {
  head(table, [["", "worker", "word"], ["", "host", "word"], ...WORKERS.map(([heading]) => ["", heading])]);
  body(table, answer.workers.map((one) => {
    const silent = one.silent_s > 3;
    const line = tr({ first: true, silent });
    line.append(td(one.worker, "", "word"), td(one.host ?? "", "", "word"));
    if (silent) {
      const words = td(`not heard for ${Math.round(one.silent_s)} s`, "", "word");
      words.colSpan = WORKERS.length;
      line.append(words);
    } else for (const [, write, bad] of WORKERS) line.append(td(write(one), "", bad?.(one) ? "bad" : ""));
    return line;
  }), WORKERS.length + 2, "No worker has told anything yet.");
}

// How far a worker's clock is from the master's, and how sure that is.
function clock(one) {
  if (one.clock_offset_ms === null || one.clock_offset_ms === undefined) return "";
  const sign = one.clock_offset_ms < 0 ? "−" : "+";
  const error = one.clock_error_ms === null || one.clock_error_ms === undefined ? "" : ` ± ${number(one.clock_error_ms)}`;
  return sign + number(Math.abs(one.clock_offset_ms)) + error;
}

// Headings, made anew only if they changed: groups over headings where there are any.
function head(table, columns) {
  const text = columns.map(([group, heading]) => `${group}/${heading}`).join("|");
  if (table.dataset.head === text) return;
  table.dataset.head = text;
  const [groups, headings] = [document.createElement("tr"), document.createElement("tr")];
  let last = null;
  for (const [group, heading, style] of columns) {
    const th = document.createElement("th");
    th.textContent = heading;
    th.scope = "col";
    if (style === "word") th.className = "word";
    headings.append(th);
    if (last && group && last.textContent === group) last.colSpan += 1;
    else {
      last = document.createElement("th");
      const span = document.createElement("span");
      span.textContent = group;
      last.append(span);
      groups.append(last);
    }
  }
  table.tHead.replaceChildren(...(columns.some(([group]) => group) ? [groups, headings] : [headings]));
}

function body(table, lines, columns, nothing) {
  if (!lines.length) {
    const line = tr({});
    const words = td(nothing, "", "none");
    words.colSpan = columns;
    line.append(words);
    lines = [line];
  }
  table.tBodies[0].replaceChildren(...lines);
}

function tr(styles) {
  const line = document.createElement("tr");
  line.className = Object.keys(styles).filter((name) => styles[name]).join(" ");
  return line;
}

function td(text, signs = "", style = "", used = null) {
  const made = document.createElement("td");
  made.textContent = text;
  if (style) made.className = style;
  if (signs) {
    const beside = document.createElement("i");
    beside.textContent = signs;
    made.append(beside);
    for (const sign of signs) used?.add(sign);
  }
  return made;
}
