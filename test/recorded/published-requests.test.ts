import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { GENERATE_DIALECTS } from "../../src/dialects/table.ts";
import {
  NO_EDITS,
  NO_HEADERS,
  SURFACE_DIALECTS,
  SURFACES,
  targetOf,
  type SurfaceDialect,
} from "../support/dialects.ts";
import {
  openaiRequestCheck,
  PUBLISHED_DIALECTS,
  type PublishedDialect,
} from "../support/published-openai.ts";
import { readRecordings } from "../support/recordings.ts";
import { forOneTool } from "../../src/dialects/translate-request.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const check = openaiRequestCheck();

/** What is sent for a recorded request; `null` where the protocol cannot say it. */
function sentTo(
  dialect: PublishedDialect,
  surface: SurfaceDialect,
  body: JsonObject,
): JsonObject | null {
  const request = SURFACES[surface].parse(body, JSON.stringify(body).length, NO_HEADERS);
  if ("code" in request) return null;
  const facts = GENERATE_DIALECTS[dialect];
  const { needs, features } = request.shape;
  if (needs.some((need) => !facts.expresses.some((own) => own === need))) return null;
  if (features.some((feature) => !facts.features.some((own) => own === feature))) return null;
  const canonical = SURFACES[surface].translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) return null;
  const formatted = upstreamFor("generate", dialect).format(
    forOneTool(canonical.request, facts).request,
    targetOf(dialect),
  );
  return "code" in formatted || !isJsonObject(formatted.body) ? null : formatted.body;
}

/** The schema of responses does not have sounds yet, which its description names. */
function hasSound(body: JsonObject): boolean {
  return JSON.stringify(body).includes('"type":"input_audio"');
}

describe.skipIf(check === null)(
  "translated requests (needs ../shared/reference and ../shared/recordings)",
  () => {
    it.each(PUBLISHED_DIALECTS)("satisfy the schema that OpenAI publishes: %s", (dialect) => {
      const wrong: string[] = [];
      let checked = 0;
      for (const surface of SURFACE_DIALECTS.filter((name) => name !== dialect)) {
        for (const { id, request, response } of readRecordings(surface) ?? []) {
          if (response.status !== 200 || !isJsonObject(request?.body)) continue;
          const sent = sentTo(dialect, surface, { ...request.body, model: "m" });
          if (sent === null || (dialect === "openai-responses" && hasSound(sent))) continue;
          checked += 1;
          const problem = check?.(dialect, sent) ?? null;
          if (problem !== null) wrong.push(`${surface} ${id}: ${problem.slice(0, 300)}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(checked).toBeGreaterThan(dialect === "openai-completions" ? 0 : 100);
    });
  },
);
