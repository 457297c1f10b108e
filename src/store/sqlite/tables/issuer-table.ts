import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { IssuerRecord } from "../../../keys/key-store.ts";
import { readNumber, readText } from "../../rows/row.ts";

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

  publish({ kid, publicKey, expiresAt }: IssuerRecord): void {
    this.#insert.run(kid, publicKey, expiresAt);
  }

  list(now: number): readonly IssuerRecord[] {
    return this.#list.all(now).map((row) => ({
      kid: readText(row, "kid"),
      publicKey: readText(row, "public_key"),
      expiresAt: readNumber(row, "expires_at"),
    }));
  }

  prune(before: number): number {
    return Number(this.#prune.run(before).changes);
  }
}
