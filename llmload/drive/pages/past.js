// What was, as points over time: bounded, however long the page stays open. Knows no page and no server.

export const MOST = 2000;

const FINE = 60;
const LATER = ["step", "concurrency", "rate"];
const WORST = /(_p95|_p99|cpu_max|_lag_p99_ms|stamp_lag_ms)$/;

const known = (value) => value !== null && value !== undefined;
const later = (one, other) => (known(other) ? other : one);
const worst = (one, other) => (known(one) && known(other) ? Math.max(one, other) : later(one, other));
const mean = (one, other) => (known(one) && known(other) ? (one + other) / 2 : later(one, other));
const ruleOf = (name) => (LATER.includes(name) ? later : WORST.test(name) ? worst : mean);

export class Past {
  constructor(most = MOST) {
    this.most = most;
    this.t = [];
    this.columns = new Map(); // "in_flight", "all.ttft_p50" …: as many values as there are points
  }

  get last() {
    return this.t.length ? this.t[this.t.length - 1] : 0;
  }

  // Append what is later than the last point. A figure that was not told before or is told no more is null there.
  take(history) {
    const from = history.t.findIndex((t) => t > this.last);
    if (from < 0) return;
    const had = this.t.length;
    const more = history.t.length - from;
    for (let at = from; at < history.t.length; at++) this.t.push(history.t[at]);
    for (const [name, values] of flat(history)) {
      if (!this.columns.has(name)) this.columns.set(name, new Array(had).fill(null));
      const column = this.columns.get(name);
      for (let at = from; at < history.t.length; at++) column.push(values[at] ?? null);
    }
    for (const column of this.columns.values()) while (column.length < had + more) column.push(null);
    while (this.t.length > this.most) this.thin();
  }

  // Two points become one, those of the last minute aside: the worst of two percentiles or lags, so that a spike stays,
  // the later of two levels, else the mean. The server does the same with its own.
  thin() {
    const pairs = Math.floor((this.t.length - FINE) / 2);
    const merged = (values, together) => {
      const made = [];
      for (let at = 0; at < 2 * pairs; at += 2) made.push(together(values[at], values[at + 1]));
      return made.concat(values.slice(2 * pairs));
    };
    this.t = merged(this.t, later);
    for (const [name, column] of this.columns) this.columns.set(name, merged(column, ruleOf(name)));
  }

  // What there is of a block: the classes' figures, the outcomes of failures.
  names(block) {
    return [...this.columns.keys()].filter((name) => name.startsWith(`${block}.`)).map((name) => name.slice(block.length + 1));
  }

  column(name) {
    return this.columns.get(name) ?? new Array(this.t.length).fill(null);
  }
}

// Names and values of a history: those of a class are told as class.name.
function flat(history) {
  const found = [];
  for (const [name, values] of Object.entries(history)) {
    if (name === "t") continue;
    if (Array.isArray(values)) found.push([name, values]);
    else if (values && typeof values === "object")
      for (const [key, column] of Object.entries(values)) if (Array.isArray(column)) found.push([`${name}.${key}`, column]);
  }
  return found;
}
