import type { ModelOperation } from "../canon/operation.ts";
import type { EmbedRequest, EmbedResult } from "../canon/unary/embed.ts";
import type { ModerateRequest, ModerateResult } from "../canon/unary/moderate.ts";
import type { RerankRequest, RerankResult } from "../canon/unary/rerank.ts";
import type { DialectFacts } from "./dialect-facts.ts";
import type { Upstream } from "./dialect.ts";
import type { UnaryUpstream } from "./unary/upstream.ts";

/** How providers of a wire protocol are called, for each of the protocol's operations (`DialectFacts.operations`). */
export interface Dialect extends Partial<Record<ModelOperation, unknown>> {
  readonly generate?: Upstream;
  readonly embed?: UnaryUpstream<EmbedRequest, EmbedResult>;
  readonly rerank?: UnaryUpstream<RerankRequest, RerankResult>;
  readonly moderate?: UnaryUpstream<ModerateRequest, ModerateResult>;
}

/** A wire protocol's row: its facts, and its translator. Checking a configuration needs the facts only, so it does not load translators. */
export interface DialectRow extends DialectFacts {
  readonly load: () => Promise<{ readonly dialect: Dialect }>;
}
