import { DAY, HOUR, zoneOffset } from "../../canon/local-time.ts";
import {
  DAY_BUCKETS,
  HOUR_BUCKETS,
  WEEKDAYS,
  type LocalTime,
  type PolicyTime,
} from "../../canon/policy.ts";
import { timeWindow } from "../../decide/policy-input.ts";
import { readsPath } from "../../policy/policy-set.ts";

/** The parts of a policy or an assertion that clocks depend on. */
export interface ClockReader {
  /** Paths of the input and of the data; each covers everything below it. */
  readonly reads: readonly string[];
  /** Whether it can distinguish a string because it contains it, or a text of it. */
  readonly names: (name: string) => boolean;
  /**
   * Why it can distinguish any two strings, such as a built-in that looks into text; empty where it
   * cannot.
   */
  readonly inspects: readonly string[];
  /** Whether it may compare strings of two members with each other. */
  readonly relates: boolean;
  /** The numbers with which it compares hours of zones; `null`: it may distinguish any two. */
  readonly hours: readonly number[] | null;
}

/** The times that requests can have, and their names in reports. */
export interface Times {
  /** One for each class that readers distinguish in zones; a weekday's morning comes first. */
  readonly times: readonly PolicyTime[];
  readonly nameOf: (time: PolicyTime) => string;
}

/**
 * Every time that some reader distinguishes. Zones are not varied one by one: their clocks go
 * together, so that only times which occur are decided.
 *
 * @param zones that any policy of either side names.
 */
export function timesOf(readers: readonly ClockReader[], zones: readonly string[]): Times {
  const readings = zones.map((zone) => zoneReading(readers, zone));
  const windows = DAY_BUCKETS.flatMap((day) => PLAIN_HOURS.map((hour) => ({ day, hour })));
  const utc = ({ day, hour }: PolicyTime) => `${day} ${hour}`;
  if (readings.every(({ isRead }) => !isRead)) return { times: windows, nameOf: utc };
  const readsUtc = readers.some((reader) => readsPath(reader, "input.time"));
  const nameOf = (time: PolicyTime) =>
    [...(readsUtc ? [utc(time)] : []), ...readings.map((reading) => reading.textOf(time))]
      .filter((part) => part !== "")
      .join(" with ");
  const classes = new Map<string, PolicyTime>();
  const instants = instantsOf(zones).map((at) => timeWindow(at, zones));
  for (const { day, hour } of windows)
    for (const time of instants)
      if (time.day === day && time.hour === hour && !classes.has(nameOf(time)))
        classes.set(nameOf(time), time);
  return { times: [...classes.values()], nameOf };
}

/** The first hour represents all where no reader distinguishes them. */
const PLAIN_HOURS = [
  "morning",
  ...HOUR_BUCKETS.filter((hour) => hour !== "morning"),
] as const satisfies PolicyTime["hour"][];

export type ZoneReading = ReturnType<typeof zoneReading>;

/** The times of one zone that some readers distinguish. */
export function zoneReading(readers: readonly ClockReader[], zone: string) {
  const reading = (member: keyof LocalTime) =>
    readers.filter((reader) => readsPath(reader, `input.local_time.${zone}.${member}`));
  /** By hour and by weekday, the name of the class; empty where no reader reads it. */
  const hours = namedClasses(
    Array.from({ length: 24 }, (_, hour) => hour),
    (hour) => hourClass(reading("hour"), hour),
    (first, last) => `${clock(first, 0)}–${clock(last, 59)}`,
  );
  const weekdays = namedClasses(
    WEEKDAYS,
    (weekday) => weekdayClass(reading("weekday"), weekday),
    (first, last) => (first === last ? first : `${first}–${last}`),
  );
  const isRead = hours[0] !== "" || weekdays[0] !== "";
  return {
    isRead,
    /** The name of a time's class, such as `Europe/Berlin monday–friday 06:00–21:59`. */
    textOf({ local }: PolicyTime): string {
      const time = local?.[zone];
      if (time === undefined || !isRead) return "";
      const members = [zone, weekdays[WEEKDAYS.indexOf(time.weekday)], hours[time.hour]];
      return members.filter((text) => text !== "").join(" ");
    },
  };
}

const clock = (hour: number, minute: number) =>
  `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;

/** Hours that are on the same side of every number with which they are compared. */
function hourClass(readers: readonly ClockReader[], hour: number): string {
  if (readers.some(({ hours }) => hours === null)) return `=${hour}`;
  return readers
    .flatMap(({ hours }) => hours ?? [])
    .map((number) => Math.sign(hour - number))
    .join();
}

/**
 * Weekdays that a reader does not name are alike to it if it only compares with its own strings.
 */
function weekdayClass(readers: readonly ClockReader[], weekday: string): string {
  const isDistinguished = readers.some(
    ({ names, inspects, relates }) => names(weekday) || inspects.length > 0 || relates,
  );
  return isDistinguished ? weekday : "";
}

/**
 * The name of each value's class: the runs of values that are in it. All are unnamed where there is
 * one class only.
 */
function namedClasses<Value>(
  values: readonly Value[],
  classOf: (value: Value) => string,
  nameOf: (first: Value, last: Value) => string,
): readonly string[] {
  const classes = values.map(classOf);
  const names = new Map<string, string[]>();
  for (let first = 0; first < values.length;) {
    const current = classes[first] ?? "";
    let last = first;
    while (last + 1 < values.length && classes[last + 1] === current) last += 1;
    const [from, to] = [values[first], values[last]];
    if (from !== undefined && to !== undefined)
      names.set(current, [...(names.get(current) ?? []), nameOf(from, to)]);
    first = last + 1;
  }
  return classes.map((current) => (names.size === 1 ? "" : (names.get(current) ?? []).join(" ")));
}

/**
 * The years whose clock changes are tried. Fixed, because a simulation of the same sides gives the
 * same report on any day.
 */
const FIRST_INSTANT = Date.UTC(2026, 0, 1);
const LAST_INSTANT = Date.UTC(2036, 0, 1);
/** All offsets are multiples of it, so no clock reaches another hour in between. */
const STEP = HOUR / 4;
const WEEK = 7 * DAY;

/**
 * Instants that show every combination of the zones' clocks. Each set of offsets needs one week.
 */
function instantsOf(zones: readonly string[]): readonly number[] {
  const changes = [...new Set([FIRST_INSTANT, ...zones.flatMap(changesOf)])].toSorted(
    (left, right) => left - right,
  );
  const whole = new Set<string>();
  return changes.flatMap((from, index) => {
    const until = Math.min(changes[index + 1] ?? LAST_INSTANT, from + WEEK);
    const offsets = zones.map((zone) => zoneOffset(zone, from)).join();
    if (whole.has(offsets)) return [];
    if (until === from + WEEK) whole.add(offsets);
    return Array.from({ length: (until - from) / STEP }, (_, step) => from + step * STEP);
  });
}

/** When the clock of a zone is put forward or back. */
function changesOf(zone: string): readonly number[] {
  const found: number[] = [];
  for (let day = FIRST_INSTANT; day < LAST_INSTANT; day += DAY) {
    const before = zoneOffset(zone, day);
    if (zoneOffset(zone, day + DAY) === before) continue;
    let at = day + STEP;
    while (zoneOffset(zone, at) === before) at += STEP;
    found.push(at);
  }
  return found;
}
