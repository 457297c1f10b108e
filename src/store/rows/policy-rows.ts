import type { StoredContent } from "../../canon/policy.ts";
import { GENESIS, type ChainLink } from "../../evidence/chain.ts";
import type { PolicyLogRow } from "../../lifecycle/records.ts";
import { readBytes, readNumber, readText, type Row } from "./row.ts";

/** The newest row of the log of policies. */
export function readPolicyHead(row: Row | undefined): ChainLink {
  return row === undefined
    ? GENESIS
    : { position: readNumber(row, "position"), hash: readText(row, "hash") };
}

/** A row of the log from its columns; their names are the same in every engine. */
export function readPolicyRow(row: Row): PolicyLogRow {
  return {
    position: readNumber(row, "position"),
    previous: readText(row, "previous"),
    hash: readText(row, "hash"),
    record: readText(row, "record"),
  };
}

export function readPolicyContent(row: Row | undefined): StoredContent | null {
  if (row === undefined) return null;
  return {
    policy: readText(row, "policy"),
    digest: readText(row, "digest"),
    description: readText(row, "description"),
    module: readBytes(row, "module"),
  };
}
