import { lookup as askDns, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { addressKind, hostKind } from "../../network/address.ts";

/** How far connections may reach: `public`: into the internet alone; `private`: into networks of one's own too; `any`: where the router itself has chosen the address. */
export type Reach = "public" | "private" | "any";

/** Code of the error of a connection that was not made because of where it would have led. */
export const ADDRESS_REFUSED = "SBX_ADDRESS_REFUSED";

/** The host's name or one of its addresses is none that the provider's row allows. */
class AddressRefusedError extends Error {
  readonly code = ADDRESS_REFUSED;
}

/**
 * Connections that only go where the row of a provider lets them. The address that the socket is about to be connected to is checked at every connection, so a name that resolves
 * to another address than a moment ago (DNS rebinding) gains nothing.
 *
 * @param timeout until a connection stands, milliseconds.
 * @param resolve looks up the addresses of a name.
 * @param allowsHttp2 HTTP/2 is spoken with providers that offer it; its connections cannot be had for one call alone.
 */
export function guardedConnector(
  timeout: number,
  reach: Reach,
  resolve: LookupFunction = askDns,
  allowsHttp2 = true,
): buildConnector.connector {
  const connect = buildConnector({ timeout, lookup: guardedLookup(reach, resolve), allowH2: allowsHttp2 });
  return (options, callback) => {
    // An address that is written out is connected to without a look-up, so it is judged here.
    const kind = hostKind(options.hostname);
    if (kind !== null && !mayReach(reach, kind)) callback(new AddressRefusedError("address refused"), null);
    else connect(options, callback);
  };
}

/** A look-up that answers addresses within reach only. One address beyond it refuses all: a name that resolves to both is taken for an attack. */
export function guardedLookup(reach: Reach, resolve: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, options, (error, address, family) => {
      if (error !== null) return callback(error, address, family);
      const found: readonly Pick<LookupAddress, "address">[] = Array.isArray(address) ? address : [{ address }];
      if (found.every((one) => mayReach(reach, addressKind(one.address)))) return callback(null, address, family);
      callback(new AddressRefusedError("address refused"), address, family);
    });
  };
}

function mayReach(reach: Reach, kind: ReturnType<typeof addressKind>): boolean {
  return reach === "any" || kind === "public" || (kind === "private" && reach === "private");
}
