// What was, as points over time: bounded, however long the page stays open. Knows no page and no server.
//
// As the server does it: the last minute stands second by second, older points are merged, two into one, then four.
// A percentile or a lag becomes the worst of its points, so that a spike never goes away; a level the latest; all else
// their mean.

const MOST = 2000;
const FINE = 60;
const LATEST = ["step", "concurrency"];
const WORST = /(_p95|_p99|cpu_max|_lag_p99_ms|stamp_lag_ms)$/;

const known = (value) => value !== null && value !== undefined;
const latest = (values) => values[values.length - 1];
const worst = (values) => Math.max(...values);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const ruleOf = (name) => (LATEST.includes(name) ? latest : WORST.test(name) ? worst : mean);

export class Past {
  constructor() {
    this.t = [];
    this.columns = new Map(); // "in_flight", "classes.all.ttft_p50" …: as many values as there are points
    this.coarse = 0; // so many points at the beginning are merged ones …
    this.size = 1; // … each of so many
  }

  get last() {
    return this.t.length ? latest(this.t) : 0;
  }

  // Append what is later than the last point. A figure that was not told before or is told no more is null there.
  take(history) {
    const from = history.t.findIndex((t) => t > this.last);
    if (from < 0) return;
    const had = this.t.length;
    this.t.push(...history.t.slice(from));
    for (const [name, values] of flat(history)) {
      if (!this.columns.has(name)) this.columns.set(name, new Array(had).fill(null));
      const column = this.columns.get(name);
      for (const value of values.slice(from)) column.push(value ?? null);
    }
    for (const column of this.columns.values()) while (column.length < this.t.length) column.push(null);
    if (had) this.settle();
    else this.begin();
  }

  // What came first is the server's own, merged as far as it has to be.
  begin() {
    const [t, n] = [this.t, this.t.length];
    this.coarse = Math.max(0, n - FINE);
    this.size = this.coarse > 1 ? Math.max(1, Math.round((t[1] - t[0]) / (t[n - 1] - t[n - 2]))) : 1;
  }

  settle() {
    const groups = Math.floor((this.t.length - this.coarse - FINE) / this.size);
    if (groups > 0) {
      if (this.size > 1) this.merge(this.coarse, groups, this.size);
      this.coarse += groups;
    }
    while (this.t.length > MOST) {
      const pairs = Math.floor(this.coarse / 2);
      this.merge(0, pairs, 2);
      this.coarse -= pairs;
      this.size *= 2;
    }
  }

  // From a place on, so many groups of so many points become one point each.
  merge(first, groups, size) {
    const merged = (values, together) => {
      const made = values.slice(0, first);
      for (let group = 0; group < groups; group++) {
        const some = values.slice(first + group * size, first + (group + 1) * size).filter(known);
        made.push(some.length ? together(some) : null);
      }
      return made.concat(values.slice(first + groups * size));
    };
    this.t = merged(this.t, latest);
    for (const [name, column] of this.columns) this.columns.set(name, merged(column, ruleOf(name)));
  }

  // What there is of a block: the outcomes of failures.
  names(block) {
    return [...this.columns.keys()].filter((name) => name.startsWith(`${block}.`)).map((name) => name.slice(block.length + 1));
  }

  column(name) {
    return this.columns.get(name) ?? new Array(this.t.length).fill(null);
  }
}

// Names and values of a history: what stands inside is told with where it stands, as classes.short.ttft_p50.
function flat(history, before = "") {
  return Object.entries(history ?? {}).flatMap(([name, values]) => {
    if (before + name === "t") return [];
    return Array.isArray(values) ? [[before + name, values]] : flat(values, `${before}${name}.`);
  });
}
