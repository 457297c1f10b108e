import type { Relay } from "./dialect.ts";
import type { DialectName } from "./names.ts";
import { chatRelay } from "./openai-chat/dialect.ts";

/** What each wire protocol can do as an upstream. A new protocol is one row here and one in `names.ts`. */
export const RELAYS: Readonly<Record<DialectName, Relay>> = {
  "openai-chat": chatRelay,
};
