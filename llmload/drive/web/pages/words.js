// Figures and times as people read them. Knows no page: text in, text out. What was not measured is blank, never 0.

export const SPACE = "\u202f";

// Three digits and more where they are there: 0.04, 1.23, 45.6, 789, 12,345. As in the report's tables.
export function number(value) {
  if (value === null || value === undefined) return "";
  if (value === "inf" || value === Infinity) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

export const count = (value) => (value === null || value === undefined ? "" : Math.round(value).toLocaleString("en-US"));
export const percent = (share) => (share === null || share === undefined ? "" : number(share * 100));

// Milliseconds as seconds, as in the report's tables.
export function seconds(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms === "inf") return "∞";
  const digits = ms < 99995 ? 2 : 0;
  return (ms / 1000).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// A figure and its unit, blank together; a time of ten seconds and more is told in seconds.
export function parts(value, unit) {
  if (value === null || value === undefined) return ["", ""];
  if (unit === "count") return [count(value), ""];
  if (unit === "ms as s") return [value === "inf" ? "∞" : number(value / 1000), "s"];
  if (unit === "ms" && typeof value === "number" && value >= 9999.5) return [number(value / 1000), "s"];
  if (unit === "%") return [percent(value), "%"];
  return [number(value), unit];
}

export function told(value, unit) {
  const [text, its] = parts(value, unit);
  return text && its ? text + SPACE + its : text;
}

// A span of time: 7 s, 2:05, 1:02:05.
export function span(s) {
  if (s === null || s === undefined || !Number.isFinite(s)) return "";
  const whole = Math.max(0, Math.round(s));
  if (whole < 60) return `${whole}${SPACE}s`;
  return clock(whole);
}

// A moment of the run on an axis: 0:07, 2:05, 1:02:05.
export function clock(s) {
  const whole = Math.round(s);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return h ? `${h}:${two(m)}:${two(whole % 60)}` : `${m}:${two(whole % 60)}`;
}

export const moment = (unix) => new Date(unix * 1000).toLocaleTimeString();

// What a step asks for: 8, 2.5/s in open loop, free where users send as they like.
export function level(step) {
  if (step.concurrency !== null && step.concurrency !== undefined) return String(step.concurrency);
  return step.rate !== null && step.rate !== undefined ? `${step.rate}/s` : "free";
}

export const asks = (step) => level(step) + (typeof step.concurrency === "number" ? " in flight" : "");

export const failures = (outcomes) =>
  Object.entries(outcomes ?? {}).filter(([name, n]) => n && !["ok", "cancelled", "not_sent"].includes(name));

export const sum = (pairs) => pairs.reduce((total, [, n]) => total + n, 0);
