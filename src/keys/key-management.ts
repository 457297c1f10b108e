import type { ServiceKey } from "../canon/credentials/service-key.ts";
import { KeyNotActiveError, StoreUnavailableError } from "../store/errors.ts";
import type { KeyRecord, KeyStore } from "../store/port.ts";
import { KeyOptionError } from "./key-option-error.ts";
import { createKey, prepareRotation, type Clock, type KeyOptions, type RotateOptions } from "./key-record.ts";
import type { RandomBytes } from "./key-text.ts";

type Fault =
  | { readonly fault: "option"; readonly field: string; readonly fix: string }
  | { readonly fault: "absent" | "not_active" | "unavailable" };

interface Prepared {
  readonly text: string;
  readonly key: ServiceKey;
  readonly previous: ServiceKey | null;
  readonly store: () => Promise<Fault | null>;
}

/** Making and changing keys for callers who want reasons and not exceptions; what http serves under `/v1/keys`. */
export function manageKeys(keys: KeyStore, clock: Clock, randomBytes: RandomBytes) {
  return {
    get: (id: string): Promise<ServiceKey | Fault> =>
      orFault(async () => {
        const record = await keys.get(id);
        return record === null ? ABSENT : withoutDigest(record);
      }),
    list: (workspace: string): Promise<readonly ServiceKey[] | Fault> =>
      orFault(async () => (await keys.list({ workspace })).map(withoutDigest)),
    create(options: KeyOptions): Prepared | Fault {
      try {
        const { text, record } = createKey(options, clock, randomBytes);
        const store = (): Promise<Fault | null> => orFault(() => keys.create(record).then(() => null));
        return { text, key: withoutDigest(record), previous: null, store };
      } catch (error) {
        return faultOf(error);
      }
    },
    rotate: (id: string, options: RotateOptions): Promise<Prepared | Fault> =>
      orFault(async () => {
        const old = await keys.get(id);
        if (old === null) return ABSENT;
        const { text, record, previous } = prepareRotation(old, options, clock, randomBytes);
        const store = (): Promise<Fault | null> =>
          orFault(async () => ((await keys.rotate(id, record, previous.expiresAt)) === null ? ABSENT : null));
        return { text, key: withoutDigest(record), previous: withoutDigest(previous), store };
      }),
    revoke: (id: string): Promise<ServiceKey | Fault> =>
      orFault(async () => {
        const record = await keys.revoke(id, Math.trunc(clock()));
        return record === null ? ABSENT : withoutDigest(record);
      }),
  };
}

const ABSENT = { fault: "absent" } as const;

async function orFault<Result>(work: () => Promise<Result>): Promise<Result | Fault> {
  try {
    return await work();
  } catch (error) {
    return faultOf(error);
  }
}

/** @throws what is no failure that a caller can be told of */
function faultOf(error: unknown): Fault {
  if (error instanceof KeyOptionError) return { fault: "option", field: error.field, fix: error.fix };
  if (error instanceof KeyNotActiveError) return { fault: "not_active" };
  if (error instanceof StoreUnavailableError) return { fault: "unavailable" };
  throw error;
}

function withoutDigest(record: KeyRecord): ServiceKey {
  const key: Partial<KeyRecord> & ServiceKey = { ...record };
  Reflect.deleteProperty(key, "digest");
  return key;
}
