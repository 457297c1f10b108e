import { PolicyLogWatchers, refuseLogRange, refuseUnchained } from "../policy-log.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import type { WorkerLink } from "./worker-link.ts";

/** Rows read at a time, so that evidence waits for a few milliseconds at most. */
const PAGE = 1_000;

/** The log of policies, as requests to the worker. */
export function policyLogStore(link: WorkerLink): PolicyLogStore {
  const head: PolicyLogStore["head"] = async () => (await link.request({ operation: "policy_log.head" }, "head")).head;
  const watchers = new PolicyLogWatchers(head);
  return {
    head,
    async read(query) {
      refuseLogRange(query);
      const found: PolicyLogRow[] = [];
      for (;;) {
        const limit = Math.min(PAGE, query.limit - found.length);
        const after = found.at(-1)?.position ?? query.after;
        const { rows } = await link.request({ operation: "policy_log.read", after, limit }, "policy_rows");
        found.push(...rows);
        if (rows.length < limit || found.length >= query.limit) return found;
      }
    },
    async append(expected, rows) {
      refuseUnchained(expected, rows);
      const request = { operation: "policy_log.append", expected, rows } as const;
      const { appended } = await link.request(request, "policy_appended");
      if (appended) watchers.publish(rows.at(-1) ?? expected);
      return appended;
    },
    async keep(content) {
      await link.request({ operation: "policy_log.keep", content }, "done");
    },
    async content(digest) {
      return (await link.request({ operation: "policy_log.content", digest }, "policy_content")).content;
    },
    watch: (listener) => watchers.add(listener),
  };
}
