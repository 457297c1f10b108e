import type { Behaviour } from "../behaviour.ts";
import {
  CONVERSE_FAILURE,
  refuseConverse,
  requestIdentity,
  unauthorised,
} from "../bedrock-converse/error.ts";
import { modelIn } from "../bedrock-converse/protocol.ts";

/** What every model has in common that Bedrock's InvokeModel calls. */
export const INVOKED = {
  codes: new Map<number, string>(),
  modelIn,
  unauthorised,
  refuse: refuseConverse,
  failure: CONVERSE_FAILURE,
  identity: requestIdentity,
};

/**
 * The header in which InvokeModel counts what a model was sent, whether or not the model counts as
 * well.
 */
export function inputCount(tokens: number, behaviour: Behaviour): Readonly<Record<string, string>> {
  return behaviour.noUsage ? {} : { "x-amzn-bedrock-input-token-count": String(tokens) };
}
