import { BlockList, isIPv4, isIPv6, SocketAddress } from "node:net";

/**
 * Kinds of IP addresses for a router that calls providers: `public`: on the internet; `private`:
 * this machine or a private network, called only if routes.yaml allows it; `forbidden`: no provider
 * has such an address, but the metadata service of a cloud may.
 */
type AddressKind = "public" | "private" | "forbidden";

/**
 * From IANA's registries of special-purpose addresses (RFC 6890 and its updates). Forbidden ranges
 * count before private ones, private ones before public ones.
 */
const IPV4: Readonly<Record<AddressKind, readonly string[]>> = {
  forbidden: [
    "0.0.0.0/8",
    // The metadata service of Alibaba Cloud.
    "100.100.100.200/32",
    // Azure's platform, which hands out certificates.
    "168.63.129.16/32",
    // Link-local: the metadata services of AWS, Azure, Google and others.
    "169.254.0.0/16",
    // Protocol assignments, with the metadata service of Oracle Cloud.
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    // Multicast, reserved, broadcast.
    "224.0.0.0/3",
  ],
  private: [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",
  ],
  public: ["0.0.0.0/0"],
};

/** Addresses in none of these ranges are not allocated yet, and forbidden. */
const IPV6: Readonly<Record<AddressKind, readonly string[]>> = {
  forbidden: [
    // Teredo and other protocol assignments.
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
    // The metadata services of AWS and Google.
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
  ],
  private: ["::1/128", "64:ff9b:1::/48", "fc00::/7", "fec0::/10"],
  public: ["2000::/3"],
};

/**
 * Prefixes of IPv6 addresses that lead to the IPv4 address behind the prefix. BlockList itself
 * reads the mapped ones, `::ffff:0:0/96`.
 */
const EMBEDDED = [
  { prefix: "::ffff:0:", suffix: "", bits: 96 },
  { prefix: "64:ff9b::", suffix: "", bits: 96 },
  { prefix: "2002:", suffix: "::", bits: 16 },
] as const;

const FORBIDDEN = rangesOf("forbidden");
const PRIVATE = rangesOf("private");
const PUBLIC = rangesOf("public");

/** The kind of an address as DNS or a URL writes it. Other text is `forbidden`. */
export function addressKind(text: string): AddressKind {
  const address = parseAddress(text);
  if (address === null || FORBIDDEN.check(address)) return "forbidden";
  if (PRIVATE.check(address)) return "private";
  return PUBLIC.check(address) ? "public" : "forbidden";
}

/**
 * The kind of a host as far as its text shows it.
 *
 * @param hostname as `URL` writes it, with brackets around an IPv6 address.
 * @returns `null` for a name, which only DNS can resolve.
 */
export function hostKind(hostname: string): AddressKind | null {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  // RFC 6761 §6.3: names that never leave the machine.
  if (name === "localhost" || name.endsWith(".localhost")) return "private";
  const bare = /^\[(.*)\]$/.exec(name)?.[1] ?? name;
  return parseAddress(bare) === null ? null : addressKind(bare);
}

function parseAddress(text: string): SocketAddress | null {
  if (isIPv4(text)) return new SocketAddress({ address: text, family: "ipv4" });
  // A zone names the interface; it changes nothing about the address.
  const [address = ""] = text.split("%", 1);
  return isIPv6(address) ? new SocketAddress({ address, family: "ipv6" }) : null;
}

function rangesOf(kind: AddressKind): BlockList {
  const ranges = new BlockList();
  for (const row of IPV4[kind]) {
    const [address = "", bits] = row.split("/");
    ranges.addSubnet(address, Number(bits), "ipv4");
    for (const { prefix, suffix, bits: before } of EMBEDDED) {
      ranges.addSubnet(`${prefix}${hexadecimal(address)}${suffix}`, before + Number(bits), "ipv6");
    }
  }
  for (const row of IPV6[kind]) {
    const [address = "", bits] = row.split("/");
    ranges.addSubnet(address, Number(bits), "ipv6");
  }
  return ranges;
}

/** An IPv4 address as two groups of an IPv6 address. */
function hexadecimal(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
