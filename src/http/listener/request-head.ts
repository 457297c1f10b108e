import type { IncomingMessage } from "node:http";
import { invalidRequest, serviceError, type ServiceError } from "../../canon/error.ts";

/** Longest path with its query, characters. */
const LONGEST_URL = 8 * 1024;

/** Header lines of one request. */
const MOST_HEADERS = 200;

/** What is refused of any request before its endpoint is looked for; `null` where nothing is. Larger heads never come so far (`listen.ts`). */
export function refuseHead({ headers, httpVersion, rawHeaders, url = "/" }: IncomingMessage): ServiceError | null {
  // RFC 9112 §3.2: an HTTP/1.1 request without Host is to be refused.
  if (headers.host === undefined && httpVersion === "1.1") {
    return invalidRequest("missing_host", "Send the Host header; HTTP/1.1 requires it.");
  }
  if (url.length > LONGEST_URL) {
    return serviceError(414, "too_large", "url_too_long", `The URL is longer than ${LONGEST_URL} characters.`);
  }
  if (rawHeaders.length > 2 * MOST_HEADERS) {
    return serviceError(431, "too_large", "too_many_headers", `The request has more than ${MOST_HEADERS} headers.`);
  }
  return null;
}
