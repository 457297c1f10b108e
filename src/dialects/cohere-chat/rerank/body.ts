import type { BodyReader } from "../../../canon/body-reader.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { ASCII_PER_TOKEN } from "../../body/sizes.ts";
import { PLAIN_BODY } from "../../body/plain-body.ts";

/** What limits read of a request. The query is read once with every document. */
export const RERANK_BODY: BodyReader = {
  ...PLAIN_BODY,
  inputAllowance: (body, needs) => PLAIN_BODY.inputAllowance(body, needs) + repeatedQuery(body),
  likelyInput: (body, needs) => PLAIN_BODY.likelyInput(body, needs) + Math.ceil(repeatedQuery(body) / ASCII_PER_TOKEN),
};

function repeatedQuery({ query, documents }: JsonObject): number {
  if (typeof query !== "string" || !Array.isArray(documents)) return 0;
  return Buffer.byteLength(query) * documents.length;
}
