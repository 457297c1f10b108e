import { expect, it } from "vitest";
import { NO_ANSWER, StatementFailure } from "../../../src/store/postgres/failure.ts";

it.each([
  ["a lock that was not free in time", "55P03", "no", false],
  ["a statement that took too long", "57014", "no", false],
  ["a server without a connection left", "53300", "no", false],
  ["nothing at the address", "ECONNREFUSED", "no", false],
  ["a value that does not fit", "22003", "no", true],
  ["a constraint", "23514", "no", true],
  ["a connection that was cut", "ECONNRESET", "unknown", false],
  ["a connection that the server lost", "08006", "unknown", false],
  ["a server that is shut down", "57P01", "unknown", false],
  ["no answer in time", NO_ANSWER, "unknown", false],
  ["something without a code", null, "unknown", false],
] as const)("%s (%s): whether anything was applied is %s", (_, code, applied, permanent) => {
  expect(new StatementFailure(code)).toMatchObject({ applied, permanent });
});
