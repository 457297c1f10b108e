import type { SessionStore } from "../../keys/session-store.ts";
import type { WorkerLink } from "./worker-link.ts";

/** The sessions of the store's thread. */
export function sessionStore(link: WorkerLink): SessionStore {
  return {
    async create(record) {
      await link.request({ operation: "sessions.create", record }, "done");
    },
    async find(digest) {
      return (await link.request({ operation: "sessions.find", digest }, "session")).record;
    },
    async touch(digest, at) {
      await link.request({ operation: "sessions.touch", digest, at }, "done");
    },
    async end(digest) {
      await link.request({ operation: "sessions.end", digest }, "done");
    },
    async prune(now, idleSince) {
      return (await link.request({ operation: "sessions.prune", now, idleSince }, "pruned")).count;
    },
  };
}
