import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  CredentialsUnavailable,
  Renewed,
  type Dated,
} from "../../../src/dispatch/credentials/renewed.ts";

const MINUTE = 60_000;
const START = 1_800_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ["setTimeout", "clearTimeout", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A source whose every answer a test gives by hand. */
function source() {
  const requested: PromiseWithResolvers<Dated<string>>[] = [];
  const renewed = new Renewed<string>({
    fetch: () => {
      const answer = Promise.withResolvers<Dated<string>>();
      requested.push(answer);
      return answer.promise;
    },
    patience: 2_000,
    now: Date.now,
  });
  /** Answers the newest question, and lets what waits for it run. */
  const answer = async (value: string, expiresAt: number | null) => {
    requested.at(-1)?.resolve({ value, expiresAt });
    await vi.advanceTimersByTimeAsync(0);
  };
  const refuse = async () => {
    requested.at(-1)?.reject(new Error("the token service said: s3cr3t"));
    await vi.advanceTimersByTimeAsync(0);
  };
  return { requested, renewed, answer, refuse };
}

/** What a value could not be had for; `undefined` where it could. */
function failureOf(value: string | Promise<string>): Promise<unknown> {
  return Promise.resolve(value).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** A source that has answered once with a value for an hour. */
async function filled() {
  const made = source();
  const first = made.renewed.get();
  await made.answer("old", START + 60 * MINUTE);
  await first;
  return made;
}

describe("a value that is renewed", () => {
  it("is requested at the first call, and once for all waiting calls", async () => {
    const { requested, renewed, answer } = source();
    expect(requested).toHaveLength(0);
    const calls = Array.from({ length: 50 }, () => Promise.resolve(renewed.get()));
    expect(requested).toHaveLength(1);
    await answer("one", START + 60 * MINUTE);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["one"]));
    expect(renewed.get()).toBe("one");
    expect(requested).toHaveLength(1);
  });

  it("is renewed four minutes before its end, while calls use the old one without waiting", async () => {
    const { requested, renewed, answer } = await filled();
    vi.setSystemTime(START + 56 * MINUTE - 1);
    expect(renewed.get()).toBe("old");
    expect(requested).toHaveLength(1);
    vi.setSystemTime(START + 56 * MINUTE);
    expect([renewed.get(), renewed.get()]).toEqual(["old", "old"]);
    expect(requested).toHaveLength(2);
    await answer("new", START + 116 * MINUTE);
    expect(renewed.get()).toBe("new");
  });

  it("is not requested at every call while the source returns the old one", async () => {
    const { requested, renewed, answer } = await filled();
    vi.setSystemTime(START + 57 * MINUTE);
    void renewed.get();
    await answer("old", START + 60 * MINUTE);
    vi.setSystemTime(START + 58.5 * MINUTE - 1);
    void renewed.get();
    expect(requested).toHaveLength(2);
    vi.setSystemTime(START + 58.5 * MINUTE);
    void renewed.get();
    expect(requested).toHaveLength(3);
  });

  it("is served through failures until just before its end, and then fails", async () => {
    const { requested, renewed, refuse } = await filled();
    vi.setSystemTime(START + 57 * MINUTE);
    expect(renewed.get()).toBe("old");
    await refuse();
    vi.setSystemTime(START + 60 * MINUTE - 10_001);
    expect(renewed.get()).toBe("old");
    expect(requested).toHaveLength(3);
    await refuse();
    vi.setSystemTime(START + 60 * MINUTE - 9_000);
    const late = renewed.get();
    const outcome = failureOf(late);
    await refuse();
    expect(await outcome).toBeInstanceOf(CredentialsUnavailable);
  });

  it("calls no server for a second after a failure, and fails at once meanwhile", async () => {
    const { requested, renewed, answer, refuse } = source();
    const outcome = failureOf(renewed.get());
    await refuse();
    expect(await outcome).toBeInstanceOf(CredentialsUnavailable);
    await expect(renewed.get()).rejects.toThrow(CredentialsUnavailable);
    expect(requested).toHaveLength(1);
    vi.setSystemTime(START + 1_000);
    const next = renewed.get();
    expect(requested).toHaveLength(2);
    await answer("one", START + 60 * MINUTE);
    expect(await next).toBe("one");
  });

  it("keeps no call longer than its patience; a late answer serves the next ones", async () => {
    const { requested, renewed, answer } = source();
    let settled = false;
    const outcome = failureOf(renewed.get()).finally(() => {
      settled = true;
    });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toBeInstanceOf(CredentialsUnavailable);
    await answer("late", START + 60 * MINUTE);
    expect(renewed.get()).toBe("late");
    expect(requested).toHaveLength(1);
  });

  it("abandons a call that is never answered, and calls again", async () => {
    const { requested, renewed } = source();
    const outcome = failureOf(renewed.get());
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await outcome).toBeInstanceOf(CredentialsUnavailable);
    await vi.advanceTimersByTimeAsync(1_000);
    void failureOf(renewed.get());
    expect(requested).toHaveLength(2);
  });

  it.each([
    ["has ended already", -1],
    ["would end on the way", 9_999],
    ["has an end that is no time", Number.NaN],
  ])("is refused where it %s", async (_, life) => {
    const { renewed, answer } = source();
    const outcome = failureOf(renewed.get());
    await answer("one", START + life);
    expect(await outcome).toBeInstanceOf(CredentialsUnavailable);
  });

  it("without an end is read again every five minutes and never ends", async () => {
    const { requested, renewed, answer, refuse } = source();
    void renewed.get();
    await answer("static", null);
    vi.setSystemTime(START + 5 * MINUTE - 1);
    expect(renewed.get()).toBe("static");
    expect(requested).toHaveLength(1);
    vi.setSystemTime(START + 5 * MINUTE);
    expect(renewed.get()).toBe("static");
    expect(requested).toHaveLength(2);
    await refuse();
    vi.setSystemTime(START + 10_000 * MINUTE);
    expect(renewed.get()).toBe("static");
    await answer("exchanged", null);
    expect(renewed.get()).toBe("exchanged");
  });

  it("that lives shorter than the time ahead is renewed in its second half", async () => {
    const { requested, renewed, answer } = source();
    void renewed.get();
    await answer("short", START + 2 * MINUTE);
    vi.setSystemTime(START + MINUTE - 1);
    void renewed.get();
    expect(requested).toHaveLength(1);
    vi.setSystemTime(START + MINUTE);
    void renewed.get();
    expect(requested).toHaveLength(2);
  });

  it("fails without the reason", async () => {
    const { renewed, refuse } = source();
    const failure = failureOf(renewed.get());
    await refuse();
    const error = await failure;
    expect(error).toBeInstanceOf(CredentialsUnavailable);
    expect(String(error) + JSON.stringify(error)).not.toContain("s3cr3t");
    expect(error).not.toHaveProperty("cause");
  });
});
