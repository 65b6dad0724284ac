// What was, as points over time: bounded, however long the page stays open. Knows no page and no server.

export const MOST = 2000;

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

  // Every second point is left out, never the newest.
  thin() {
    const odd = this.t.length % 2;
    const kept = (_, at) => at % 2 !== odd;
    this.t = this.t.filter(kept);
    for (const [name, column] of this.columns) this.columns.set(name, column.filter(kept));
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
