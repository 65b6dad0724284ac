// The charts over time: what they show, and how uPlot draws it. Knows points and marks, and nothing of how they came.

import { clock, count, level, moment, number, percent } from "./words.js";

const HEIGHT = 168;
const BOUND_CPU = 0.9;
const BOUND_LAG_MS = 5;
const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

const percentiles = (name, times = 1) =>
  ["p50", "p95", "p99"].map((p) => ({ name: p, colour: `--${p}`, times, from: (past, of) => past.column(`classes.${of}.${name}_${p}`) }));
const ofClass = (name) => (past, of) => past.column(`classes.${of}.${name}`);
const ofAll = (name) => (past) => past.column(name);

// `stands` says that a figure is of the whole run, whatever class is chosen; `maybe`, that it is left out where nothing
// was measured; `times` makes seconds of milliseconds.
export const CHARTS = [
  { group: "latency", title: "First token", unit: "ms", log: true, series: percentiles("ttft") },
  { group: "latency", title: "Gap between tokens", unit: "ms", log: true, series: percentiles("itl") },
  { group: "latency", title: "Time per token (TPOT)", unit: "ms", log: true, series: percentiles("tpot") },
  { group: "latency", title: "End to end", unit: "s", log: true, series: percentiles("e2e", 0.001) },
  {
    group: "load", title: "In flight", unit: "count", stands: true,
    series: [
      { name: "asked for", colour: "--aim", stepped: true, dash: [4, 3], from: ofAll("concurrency") },
      { name: "in flight", colour: "--p50", from: ofAll("in_flight") },
    ],
  },
  { group: "load", title: "Output tokens per second", unit: "", series: [{ name: "tokens/s", colour: "--main", fill: true, from: ofClass("tokens_per_s") }] },
  { group: "load", title: "Requests per second", unit: "", series: requests },
  { group: "load", title: "Failures per second", unit: "", stands: true, series: byOutcome },
  { group: "generator", title: "Stalls", unit: "", series: [{ name: "per 1,000 gaps", colour: "--p99", fill: true, from: ofClass("stalls") }] },
  {
    group: "generator", title: "CPU of the busiest worker", unit: "%", stands: true, least: 1,
    series: [
      { name: "limit", colour: "--limit", dash: [5, 4], from: (past) => past.t.map(() => BOUND_CPU) },
      { name: "CPU", colour: "--p50", fill: true, from: ofAll("cpu_max") },
    ],
  },
  {
    group: "generator", title: "Loop lag, p99 of the worst worker", unit: "ms", stands: true,
    series: [
      { name: "limit", colour: "--limit", dash: [5, 4], stepped: true, from: lagLimit },
      { name: "lag", colour: "--p50", fill: true, from: ofAll("loop_lag_p99_ms") },
    ],
  },
  { group: "generator", title: "Stamp lag, the largest", unit: "ms", stands: true, maybe: true, series: [{ name: "lag", colour: "--p50", fill: true, from: ofAll("stamp_lag_ms") }] },
];

// Where requests come by rate, the rate that is asked for stands beside them.
function requests(past, marks) {
  const asked = (past, of) => past.t.map((t) => (of === "all" ? marks.findLast((mark) => mark.t <= t)?.rate ?? null : null));
  const found = [
    { name: "ok", colour: "--main", from: ofClass("requests_per_s") },
    { name: "failed", colour: "--fail", fill: true, from: ofClass("failed_per_s") },
  ];
  const byRate = marks.some((mark) => typeof mark.rate === "number");
  return byRate ? [{ name: "asked for", colour: "--aim", stepped: true, dash: [4, 3], from: asked }, ...found] : found;
}

// A line for each of the most frequent failures of the run, one for all the rest.
const OUTCOMES = ["--fail", "--p95", "--p99", "--p50"];
function byOutcome(past) {
  const names = past.names("outcomes");
  const total = (name) => past.column(`outcomes.${name}`).reduce((sum, value) => sum + (value ?? 0), 0);
  const each = (name) => (past) => past.column(`outcomes.${name}`).map((value) => value ?? 0); // before the first there was none
  const order = new Map(names.map((name) => [name, total(name)]));
  names.sort((one, other) => order.get(other) - order.get(one));
  const series = names.slice(0, OUTCOMES.length).map((name, at) => ({
    name: name.replaceAll("_", " "), colour: OUTCOMES[at], from: each(name),
  }));
  const rest = names.slice(OUTCOMES.length).map((name) => `outcomes.${name}`);
  const sum = (past) => rest.map((name) => past.column(name)).reduce((all, column) => all.map((sum, at) => sum + (column[at] ?? 0)), past.t.map(() => 0));
  return rest.length ? [...series, { name: "others", colour: "--aim", from: sum }] : series;
}

// The larger of 5 ms and a tenth of the median gap: the report's own limit.
function lagLimit(past) {
  return past.column("classes.all.itl_p50").map((gap) => Math.max(BOUND_LAG_MS, typeof gap === "number" ? gap / 10 : 0));
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const finite = (value, times = 1) => (typeof value === "number" && Number.isFinite(value) ? value * times : null);

export class Charts {
  constructor(places) {
    this.all = CHARTS.map((chart) => new Chart(chart, this));
    this.marks = [];
    this.began = 0;
    for (const chart of this.all) places(chart.what.group).append(chart.figure);
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const chart = this.all.find((one) => one.figure === entry.target);
        chart.seen = entry.isIntersecting;
        chart.draw();
      }
    });
    for (const chart of this.all) seen.observe(chart.figure);
    new ResizeObserver(() => this.all.forEach((chart) => chart.fit())).observe(this.all[0].plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.all.forEach((chart) => chart.build()));
  }

  logarithmic(yes) {
    for (const chart of this.all.filter((one) => one.what.log)) {
      chart.log = yes;
      chart.build();
    }
  }

  show(past, workload, marks, began) {
    this.marks = marks;
    this.began = began;
    for (const chart of this.all) chart.take(past, workload);
  }
}

class Chart {
  constructor(what, charts) {
    this.what = what;
    this.charts = charts;
    this.log = false;
    this.seen = false;
    this.figure = document.createElement("figure");
    this.caption = document.createElement("figcaption");
    this.title = document.createElement("strong");
    this.lines([]);
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", `${what.title} over time; the latest values stand above`);
    this.figure.append(this.caption, this.plot);
    this.name("all");
  }

  name(workload) {
    const of = document.createElement("small");
    const unit = ["ms", "s", "%"].includes(this.what.unit) ? `, ${this.what.unit}` : "";
    of.textContent = unit + (this.what.stands || workload === "all" ? "" : ` (${workload})`);
    this.title.replaceChildren(this.what.title, of);
  }

  // Whose lines there are; uPlot is made anew if they are others than before.
  lines(series) {
    const names = series.map((one) => one.name).join("\n");
    this.series = series;
    if (names === this.names) return;
    this.names = names;
    this.data = [[], ...series.map(() => [])];
    this.values = [];
    this.caption.replaceChildren(this.title);
    for (const one of series) {
      const span = document.createElement("span");
      const value = document.createElement("b");
      span.append(swatch(one), `${one.name} `, value);
      this.caption.append(span);
      this.values.push(value);
    }
    this.uplot?.destroy();
    this.uplot = null;
  }

  take(past, workload) {
    this.lines(typeof this.what.series === "function" ? this.what.series(past, this.charts.marks) : this.what.series);
    const began = this.charts.began;
    this.data = [past.t.map((t) => t - began), ...this.series.map((series) => Array.from(series.from(past, workload), (value) => finite(value, series.times)))];
    this.figure.hidden = Boolean(this.what.maybe) && this.series.every((_, at) => this.data[at + 1].every((value) => value === null));
    this.name(workload);
    this.draw();
  }

  // A chart that nobody sees is not drawn.
  draw() {
    if (this.seen) {
      if (!this.uplot) this.build();
      else this.uplot.setData(this.data);
    }
    this.tell(null);
  }

  fit() {
    if (this.uplot && this.plot.clientWidth) this.uplot.setSize({ width: this.plot.clientWidth, height: HEIGHT });
  }

  // The values under the cursor, else the newest.
  tell(at) {
    const place = at ?? this.data[0].length - 1;
    this.values.forEach((value, nth) => {
      const text = this.write(this.data[nth + 1][place] ?? null);
      if (value.textContent !== text) value.textContent = text;
    });
    this.plot.title = at === null ? "" : `${clock(this.data[0][at])} of the run, ${moment(this.data[0][at] + this.charts.began)}`;
  }

  write(value) {
    return { count, "%": percent }[this.what.unit]?.(value) ?? number(value);
  }

  build() {
    if (this.uplot) this.uplot.destroy();
    this.uplot = null;
    if (!this.seen || !this.plot.clientWidth) return;
    const axis = { stroke: () => colour("--soft"), font: "11px system-ui, sans-serif", grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false } };
    const [least, log] = [this.what.least ?? 0, this.log];
    this.uplot = new uPlot(
      {
        width: this.plot.clientWidth,
        height: HEIGHT,
        padding: [14, 10, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: "llmload" }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
        scales: {
          x: { time: false, range: (_, low, high) => between(low ?? 0, high ?? 0) },
          y: log ? { distr: 3 } : { range: (_, low, high) => [0, Math.max(high ?? 0, least) * 1.08 || 1] },
        },
        axes: [
          { ...axis, size: 24, gap: 4, space: 60, incrs: TICKS, values: (_, ticks) => ticks.map(clock) },
          { ...axis, size: 44, gap: 4, space: 32, values: (_, ticks) => ticks.map((tick) => this.tick(tick)) },
        ],
        series: [{}, ...this.series.map(line)],
        hooks: {
          draw: [(u) => marks(u, this.charts)],
          setCursor: [(u) => this.tell(u.cursor.idx ?? null)],
        },
      },
      this.data,
      this.plot,
    );
  }

  tick(value) {
    if (value === null) return "";
    if (this.what.unit === "%") return `${Math.round(value * 100)}`;
    return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
  }
}

// The run's beginning is in sight if it is near, and ten seconds at least.
function between(low, high) {
  const from = low < 15 ? Math.min(0, low) : low;
  return [from, Math.max(high, from + 10)];
}

function line(series) {
  return {
    stroke: () => colour(series.colour),
    fill: series.fill ? () => `color-mix(in srgb, ${colour(series.colour)} 16%, transparent)` : undefined,
    width: series.dash ? 1.25 : 1.75,
    dash: series.dash,
    paths: series.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
    points: series.dash ? { show: false } : { size: 5, width: 0, fill: () => colour(series.colour) },
  };
}

// Where a step began: a line with what the step asks for; names that would stand upon one another are left out.
function marks(u, charts) {
  const { ctx, bbox } = u;
  const px = devicePixelRatio;
  ctx.save();
  ctx.font = `${10.5 * px}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillStyle = colour("--soft");
  ctx.strokeStyle = colour("--aim");
  ctx.lineWidth = px;
  ctx.globalAlpha = 0.75;
  ctx.setLineDash([2 * px, 3 * px]);
  let free = -Infinity;
  for (const mark of charts.marks) {
    const x = Math.round(u.valToPos(mark.t - charts.began, "x", true));
    if (x < bbox.left - 1 || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const text = level(mark);
    if (x < free) continue;
    ctx.fillText(text, x + 2 * px, bbox.top - 3 * px);
    free = x + ctx.measureText(text).width + 6 * px;
  }
  ctx.restore();
}

// The line of a series beside its name.
function swatch(series) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", "M0 4H14");
  path.setAttribute("stroke-width", "2.5");
  if (series.dash) path.setAttribute("stroke-dasharray", "4 3");
  path.style.stroke = `var(${series.colour})`;
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}
