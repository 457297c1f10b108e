import type { Dispatcher } from "undici";
import type { Candidate } from "../../../src/canon/decision.ts";
import type { UnaryPart, UnaryTask } from "../../../src/dialects/unary/surface.ts";
import { faultyAnswer, kindOfStatus } from "../../../src/dialects/answer-ends.ts";
import type { Connection } from "../../../src/dispatch/connections.ts";
import {
  concurrencyLimiter,
  type ConcurrencyLimiter,
} from "../../../src/dispatch/concurrency-limiter.ts";
import type { GatherJob } from "../../../src/dispatch/gather.ts";
import { endpoint, model, provider } from "../../support/table.ts";

/** How a stub provider answers one call. */
export type Reply =
  | { readonly kind: "ok" | "permuted" | "short" | "never" | "reset" }
  /** After a while. */
  | { readonly kind: "slow"; readonly status: number }
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string };

/** The requests that the stub providers got, and how many calls were under way at most. */
export interface CallLog {
  readonly calls: { readonly endpoint: string; readonly inputs: readonly string[] }[];
  running: number;
  most: number;
  aborted: number;
}

export function emptyCallLog(): CallLog {
  return { calls: [], running: 0, most: 0, aborted: 0 };
}

/** A provider in memory: the body of a call is the list of its inputs, and so is a right answer. */
function stub(
  id: string,
  log: CallLog,
  replyTo: (inputs: readonly string[]) => Reply,
): Pick<Dispatcher, "dispatch"> {
  return {
    dispatch({ body }, handler) {
      if (typeof body !== "string") throw new Error("a body that is no text");
      const inputs: readonly string[] = JSON.parse(body);
      log.calls.push({ endpoint: id, inputs });
      log.running += 1;
      log.most = Math.max(log.most, log.running);
      let open = true;
      const end = (): boolean => {
        if (!open) return false;
        open = false;
        log.running -= 1;
        return true;
      };
      const controller = {
        aborted: false,
        paused: false,
        reason: null,
        rawHeaders: null,
        rawTrailers: null,
        pause() {},
        resume() {},
        abort(error: Error) {
          if (!end()) return;
          log.aborted += 1;
          handler.onResponseError?.(controller, error);
        },
      } as unknown as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, {});
      const reply = replyTo(inputs);
      const answer = (): void => {
        if (!open || reply.kind === "never") return;
        if (reply.kind === "reset") {
          end();
          handler.onResponseError?.(
            controller,
            Object.assign(new Error("reset"), { code: "ECONNRESET" }),
          );
          return;
        }
        const status = "status" in reply ? reply.status : 200;
        const headers =
          reply.kind === "status" && reply.retryAfter !== undefined
            ? { "retry-after": reply.retryAfter }
            : {};
        handler.onResponseStart?.(controller, status, headers, "");
        handler.onResponseData?.(controller, Buffer.from(JSON.stringify(answerOf(reply, inputs))));
        end();
        handler.onResponseEnd?.(controller, {});
      };
      if (reply.kind === "slow") setTimeout(answer, 30);
      else setImmediate(answer);
      return true;
    },
  };
}

function answerOf(reply: Reply, inputs: readonly string[]): unknown {
  if (reply.kind === "permuted") return inputs.toReversed();
  if (reply.kind === "short") return inputs.slice(1);
  return reply.kind === "ok" ? inputs : { error: "a secret of the provider" };
}

/**
 * A task whose inputs are the texts, in parts of `size`, and whose reader takes only the very list
 * that was sent.
 */
export function echoTask(
  inputs: readonly string[],
  size: number,
  acceptsPartial: boolean,
): UnaryTask {
  const parts: UnaryPart[] = [];
  for (let first = 0; first < inputs.length; first += size) {
    const own = inputs.slice(first, first + size);
    parts.push({
      first,
      count: own.length,
      callTo: () => ({
        path: "/echo",
        body: JSON.stringify(own),
        dropped: [],
        read: (bytes) => {
          const said: unknown = JSON.parse(Buffer.from(bytes.whole).toString());
          if (JSON.stringify(said) !== JSON.stringify(own)) return faultyAnswer("result_count");
          const vectors = own.map((text) => ({ dimension: 1, encoding: "base64", text }) as const);
          return {
            operation: "embed",
            vectors,
            inputTokens: own.length,
            model: null,
            isVerbatim: false,
          };
        },
        readError: (status) => ({
          kind: kindOfStatus(status),
          status,
          retryAfter: null,
          code: null,
        }),
      }),
    });
  }
  return {
    parts,
    stripped: [],
    dropped: [],
    refusals: new Map(),
    acceptsPartial,
    answer: () => {
      throw new Error("not called here");
    },
  };
}

export interface Stubbed {
  readonly id: string;
  readonly maxConcurrency?: number;
  readonly reply: (inputs: readonly string[]) => Reply;
}

export interface Fixture {
  readonly job: Pick<GatherJob, "plan" | "inService" | "connections" | "targets" | "ownDialect">;
  readonly gates: readonly ConcurrencyLimiter[];
}

/** A plan over stub providers, the first of them the primary. */
export function fixtureOf(stubs: readonly Stubbed[], log: CallLog): Fixture {
  const plan = stubs.map(({ id }, index): Candidate => ({
    endpoint: endpoint(id, { provider: id }),
    rank: index === 0 ? "primary" : "fallback",
    tier: index,
    balance: "order",
    weight: 1,
  }));
  const connections = new Map(
    stubs.map(({ id, maxConcurrency, reply }): readonly [string, Connection] => {
      const row = provider(id, maxConcurrency === undefined ? {} : { maxConcurrency });
      const gate = concurrencyLimiter(row.maxConcurrency, row.queue);
      const connection = {
        provider: row,
        dispatcher: stub(id, log, reply) as Dispatcher,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `dispatch` is called
        freshDispatcher: stub(id, log, reply) as Dispatcher,
        origin: "http://stub.invalid",
        pathPrefix: "",
        headers: [],
        simulated: false,
        proxied: false,
        limiter: gate,
        endpointLimiters: new Map(),
        limiterOf: () => gate,
      };
      return [id, connection];
    }),
  );
  return {
    job: {
      plan,
      inService: plan.length,
      connections,
      ownDialect: "openai-chat",
      targets: new Map(
        plan.map(({ endpoint: row }) => [
          row.id,
          { endpoint: row, model: model("m"), provider: provider(row.provider) },
        ]),
      ),
    },
    gates: [...connections.values()].map(({ limiter }) => limiter),
  };
}
