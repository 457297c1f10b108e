import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { IssuerRecord } from "../../../keys/key-store.ts";
import type { StoreReply, StoreRequest } from "../protocol.ts";
import { readNumber, readText } from "../../rows/row.ts";

type IssuerRequest = Extract<StoreRequest, { readonly operation: `issuers.${string}` }>;

/**
 * The statements over `issuers`; runs in the worker. Each is one row's, so each is a transaction of
 * its own.
 */
export class IssuerTable {
  readonly #insert: StatementSync;
  readonly #list: StatementSync;
  readonly #prune: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      "INSERT INTO issuers (kid, public_key, expires_at) VALUES (?, ?, ?) ON CONFLICT (kid) DO NOTHING",
    );
    this.#list = database.prepare(
      "SELECT kid, public_key, expires_at FROM issuers WHERE expires_at > ? ORDER BY kid",
    );
    this.#prune = database.prepare("DELETE FROM issuers WHERE expires_at <= ?");
  }

  answer(request: IssuerRequest): StoreReply {
    switch (request.operation) {
      case "issuers.publish": {
        const { kid, publicKey, expiresAt } = request.record;
        this.#insert.run(kid, publicKey, expiresAt);
        return { kind: "done" };
      }
      case "issuers.list":
        return { kind: "issuers", records: this.#listed(request.now) };
      case "issuers.prune":
        return { kind: "pruned", count: Number(this.#prune.run(request.before).changes) };
    }
  }

  #listed(now: number): readonly IssuerRecord[] {
    return this.#list.all(now).map((row) => ({
      kid: readText(row, "kid"),
      publicKey: readText(row, "public_key"),
      expiresAt: readNumber(row, "expires_at"),
    }));
  }
}
