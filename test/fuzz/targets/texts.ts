import fc from "fast-check";
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { MESSAGES_HEADERS } from "../../../src/dialects/anthropic-messages/dialect.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import { repeatsMember } from "../../../src/dialects/unary/one-meaning.ts";
import { readRetryAfter } from "../../../src/dispatch/provider-call.ts";
import {
  formatHeader,
  formatPolicyHeader,
  formatPolicyRow,
  formatRow,
  readHeader,
  readPolicyHeader,
  readPolicyRow,
  readRow,
} from "../../../src/evidence/export-line.ts";
import { readGrouping } from "../../../src/governance/increments.ts";
import { readWindow } from "../../../src/governance/roll-up.ts";
import { page } from "../../../src/http/control/catalogue-handlers.ts";
import { readBody } from "../../../src/http/read-body.ts";
import { readBounds } from "../../../src/http/heads.ts";
import { holdsCredential, makeKeyText, parseKeyText } from "../../../src/keys/key-text.ts";
import { parseTraceContext } from "../../../src/telemetry/trace-context.ts";
import { CLEAN } from "../../compile/base.ts";
import { cuts, mutated, mutatedText, pieces } from "../mutations.ts";
import type { FuzzTarget } from "../target.ts";
import { refusedOr } from "../../support/refusals.ts";

const KEYS = Array.from({ length: 4 }, () => makeKeyText(randomBytes, "test").text);
const HASH = "a".repeat(64);
const LINES = [
  formatHeader({
    from: { position: 0, hash: HASH },
    to: { position: 9, hash: HASH },
    workspace: null,
  }),
  formatRow({
    previous: HASH,
    position: 1,
    kind: "decision",
    hash: HASH,
    record: '{"id":"r","at":1}',
  }),
  formatPolicyHeader({ to: { position: 9, hash: HASH } }),
  formatPolicyRow({ previous: HASH, position: 1, hash: HASH, record: '{"kind":"approved"}' }),
];
const HEADERS = [
  "1000",
  "0.5",
  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "a=1,b=2",
  "context-management-2025-06-27, interleaved-thinking-2025-05-14",
  "Fri, 31 Dec 1999 23:59:59 GMT",
  "Bearer sbx_test_x",
];
const CANARY = "sk-Zm9vYmFyYmF6cXV4MTIzNDU2";
const NOW = Date.parse("2026-06-01T00:00:00Z");
const QUERIES = [
  "start=2026-05-01T00:00:00Z&end=2026-05-02T00:00:00%2B01:00&group_by=route,day",
  `start=${CANARY}&group_by=provider&group_by=${CANARY}&limit=${CANARY}`,
  "limit=20&after_id=a&lifecycle[]=active",
];
const FORMS = [
  `grant_type=urn%3Aietf%3Aparams&subject_token=${CANARY}&scope=a+b%20c`,
  `{"grant_type":"x","subject_token":"${CANARY}","scope":"a b"}`,
];

export const TEXTS: readonly FuzzTarget[] = [
  {
    name: "keys: a text is a key only as it was made",
    property: fc.property(mutatedText(KEYS), (text) => {
      const parsed = parseKeyText(text);
      holdsCredential(text);
      // A checksum of 32 bits: that random changes hit it is not expected in the life of this job.
      if (parsed !== null) ok(KEYS.includes(text), "a changed key was taken for one");
    }),
  },
  {
    name: "headers: read, refused or passed over",
    property: fc.property(mutatedText(HEADERS), mutatedText(HEADERS), (one, other) => {
      const bounds = readBounds(
        { "x-request-timeout-ms": one, "x-max-attempts": other, "x-max-batch-size": one },
        1_000,
      );
      if (!("code" in bounds))
        ok(bounds.maxAttempts >= 1 && bounds.maxAttempts <= 10 && Number.isFinite(bounds.deadline));
      const hinted = readBounds({ "x-stainless-timeout": one }, 1_000);
      ok(!("code" in hinted) && hinted.deadline <= performance.now() + 1_000);
      const wait = readRetryAfter({ "retry-after": one, "retry-after-ms": other }, 0);
      ok(wait === null || (Number.isInteger(wait) && wait >= 0 && wait <= 3_600_000));
      for (const beta of MESSAGES_HEADERS.read({
        "anthropic-beta": one,
        "anthropic-version": other,
      }).betas) {
        ok(/^[a-z0-9][a-z0-9.-]*$/.test(beta));
      }
      parseTraceContext({ traceparent: one, tracestate: other });
    }),
  },
  {
    name: "evidence: a line that is read is written again byte for byte",
    property: fc.property(mutatedText(LINES), (line) => {
      const row = readRow(line);
      if (row !== null)
        strictEqual(
          formatRow(row).replace(/^\{"position":\d+/, ""),
          line.replace(/^\{"position":\d+/, ""),
        );
      const policy = readPolicyRow(line);
      if (policy !== null) ok(line.includes(policy.record));
      readHeader(line);
      readPolicyHeader(line);
    }),
  },
  {
    name: "JSON: read exactly, or not at all",
    property: fc.property(
      mutated(['{"a":[1,2.50,1e999,"é\\n"],"b":{"c":null}}', '{"a":1,"a":2}', "[]", "1"]),
      (bytes) => {
        const value = parseJsonBytes(bytes);
        if (value === undefined) return;
        const text = new TextDecoder().decode(bytes);
        // V8 may read an escaped name wrongly after another text (nodejs/node#63785); that is no
        // law of ours; neither is the sign of zero.
        if (!/\\|-0/.test(text))
          deepStrictEqual(JSON.parse(JSON.stringify(value)), JSON.parse(text));
        repeatsMember(bytes);
      },
    ),
  },
  {
    name: "query parameters: read or refused by name, never by value",
    property: fc.property(mutatedText(QUERIES), (text) => {
      const query = new URLSearchParams(text);
      const window = readWindow(query.get("start"), query.get("end"), NOW, null);
      if (!("from" in window)) ok(!JSON.stringify(window).includes(CANARY));
      else ok(window.from <= window.until && window.until - window.from <= 401 * 86_400_000);
      const grouping = readGrouping(
        query.getAll("group_by").flatMap((values) => values.split(",")),
        "spend",
      );
      ok(!JSON.stringify(grouping).includes(CANARY));
      const listed = refusedOr(() => page([{ id: "a" }, { id: "b" }], query, ({ id }) => ({ id })));
      ok("json" in listed || !listed.message.includes(CANARY));
      strictEqual(Object.getPrototypeOf({}), Object.prototype);
    }),
  },
  {
    name: "forms and bodies: an object of ours, or a refusal",
    property: fc.asyncProperty(
      mutated(FORMS),
      fc.boolean(),
      cuts,
      async (bytes, isForm, positions) => {
        const incoming = Object.assign(
          Readable.from(pieces(bytes, positions).filter(({ length }) => length > 0)),
          {
            headers: {
              "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json",
            },
          },
        );
        const limits = {
          bodyBytes: 100_000,
          answerBytes: 1,
          requestTime: 1,
          bodyTime: 5_000,
          writeTime: 1,
        };
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of a request as the reader looks at
        const body = await readBody(incoming as unknown as IncomingMessage, limits, {
          acceptsForm: true,
          uniqueMembers: true,
        });
        ok(body !== "aborted");
        if ("code" in body) ok(!body.message.includes(CANARY));
        else strictEqual(body.bytes, bytes.length);
      },
    ),
  },
  {
    name: "routes.yaml: a table or findings, and no finding repeats a value",
    property: fc.property(mutatedText([CLEAN, CLEAN.replace("ALPHA_KEY", CANARY)]), (text) => {
      const { table, diagnostics } = compileTable({ path: "routes.yaml", text });
      strictEqual(
        table === null,
        diagnostics.some(({ severity }) => severity === "error"),
      );
      for (const { message, hint } of diagnostics)
        ok(!`${message}${hint}`.includes(CANARY), "a finding repeats a secret");
    }),
  },
];
