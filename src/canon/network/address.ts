/**
 * What an IP address is to a router that calls providers: `public`: anybody's; `private`: this machine or a network of one's own, called only where routes.yaml
 * says so; `forbidden`: no provider can stand there, but a cloud's metadata service may.
 */
export type AddressKind = "public" | "private" | "forbidden";

/** From IANA's registries of special-purpose addresses (RFC 6890 and its updates); the longest prefix counts. */
const IPV4: readonly (readonly [string, AddressKind])[] = [
  ["0.0.0.0/0", "public"],
  ["0.0.0.0/8", "forbidden"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "private"],
  // The metadata service of Alibaba Cloud.
  ["100.100.100.200/32", "forbidden"],
  ["127.0.0.0/8", "private"],
  // Azure's platform, which hands out certificates.
  ["168.63.129.16/32", "forbidden"],
  // Link-local: the metadata services of AWS, Azure, Google and others.
  ["169.254.0.0/16", "forbidden"],
  ["172.16.0.0/12", "private"],
  // Protocol assignments, with the metadata service of Oracle Cloud.
  ["192.0.0.0/24", "forbidden"],
  ["192.0.2.0/24", "forbidden"],
  ["192.88.99.0/24", "forbidden"],
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "private"],
  ["198.51.100.0/24", "forbidden"],
  ["203.0.113.0/24", "forbidden"],
  // Multicast, reserved, broadcast.
  ["224.0.0.0/3", "forbidden"],
];

const IPV6: readonly (readonly [string, AddressKind])[] = [
  // What is not yet handed out is nobody's.
  ["::/0", "forbidden"],
  ["::1/128", "private"],
  ["64:ff9b:1::/48", "private"],
  ["2000::/3", "public"],
  // Teredo and other protocol assignments.
  ["2001::/23", "forbidden"],
  ["2001:db8::/32", "forbidden"],
  ["3fff::/20", "forbidden"],
  ["fc00::/7", "private"],
  // The metadata services of AWS and Google.
  ["fd00:ec2::254/128", "forbidden"],
  ["fd20:ce::254/128", "forbidden"],
  ["fec0::/10", "private"],
];

/** Prefixes of IPv6 addresses that lead to an IPv4 address, and the group that it begins at. */
const EMBEDDED: readonly (readonly [string, number])[] = [
  ["::ffff:0:0/96", 6],
  ["::ffff:0:0:0/96", 6],
  ["64:ff9b::/96", 6],
  ["2002::/16", 1],
];

/** Groups of 16 bits: two of an IPv4 address, eight of an IPv6 address. */
type Groups = readonly number[];

interface Prefix<Meaning> {
  readonly groups: Groups;
  readonly bits: number;
  readonly meaning: Meaning;
}

const IPV4_PREFIXES = prefixes(IPV4);
const IPV6_PREFIXES = prefixes(IPV6);
const EMBEDDED_PREFIXES = prefixes(EMBEDDED);

/** What lies at an address as DNS or a URL writes it. A text that is no address is `forbidden`: nobody could say where it leads. */
export function addressKind(text: string): AddressKind {
  const groups = groupsOf(text);
  if (groups === null) return "forbidden";
  if (groups.length === 2) return longest(IPV4_PREFIXES, groups) ?? "forbidden";
  const start = longest(EMBEDDED_PREFIXES, groups);
  if (start !== null) return longest(IPV4_PREFIXES, groups.slice(start, start + 2)) ?? "forbidden";
  return longest(IPV6_PREFIXES, groups) ?? "forbidden";
}

/**
 * What a host is as far as it shows without asking anybody.
 *
 * @param hostname as `URL` writes it, with brackets around an IPv6 address.
 * @returns `null` for a name, of which only DNS knows.
 */
export function hostKind(hostname: string): AddressKind | null {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  // RFC 6761 §6.3: names that never leave the machine.
  if (name === "localhost" || name.endsWith(".localhost")) return "private";
  const bare = /^\[(.*)\]$/.exec(name)?.[1] ?? name;
  return groupsOf(bare) === null ? null : addressKind(bare);
}

function prefixes<Meaning>(rows: readonly (readonly [string, Meaning])[]): readonly Prefix<Meaning>[] {
  return rows.map(([text, meaning]) => {
    const [address = "", bits] = text.split("/");
    const groups = groupsOf(address);
    if (groups === null) throw new Error("network: a row of the table is no address");
    return { groups, bits: Number(bits), meaning };
  });
}

function longest<Meaning>(rows: readonly Prefix<Meaning>[], groups: Groups): Meaning | null {
  let found: Prefix<Meaning> | null = null;
  for (const row of rows) {
    if (covers(row, groups) && (found === null || row.bits > found.bits)) found = row;
  }
  return found?.meaning ?? null;
}

function covers({ groups, bits }: Prefix<unknown>, address: Groups): boolean {
  return groups.every((group, index) => {
    const compared = Math.min(Math.max(bits - index * 16, 0), 16);
    const mask = (0xff_ff << (16 - compared)) & 0xff_ff;
    return ((address[index] ?? 0) & mask) === (group & mask);
  });
}

function groupsOf(text: string): Groups | null {
  return text.includes(":") ? ipv6Groups(text) : ipv4Groups(text);
}

function ipv4Groups(text: string): Groups | null {
  const found = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (found === null) return null;
  const [a = 256, b = 256, c = 256, d = 256] = found.slice(1).map(Number);
  return Math.max(a, b, c, d) > 255 ? null : [a * 256 + b, c * 256 + d];
}

function ipv6Groups(text: string): Groups | null {
  // A zone says which interface; it changes nothing about the address.
  const [address = ""] = text.split("%", 1);
  const [left = "", right, ...more] = address.split("::");
  const head = groupList(left);
  const tail = right === undefined ? [] : groupList(right);
  if (head === null || tail === null || more.length > 0) return null;
  const missing = 8 - head.length - tail.length;
  if (right === undefined ? missing !== 0 : missing < 1) return null;
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail];
}

/** Groups of hexadecimal digits; the last two may be written as an IPv4 address. */
function groupList(text: string): Groups | null {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const ipv4 = index === parts.length - 1 ? ipv4Groups(part) : null;
    if (ipv4 !== null) groups.push(...ipv4);
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}
