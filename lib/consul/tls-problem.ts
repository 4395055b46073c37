/** What a person has to look at when no TLS connection comes about: by the codes of Node and OpenSSL. */

const UNKNOWN_CA = 'its certificate is not signed by a CA that is trusted here: CONSUL_CACERT';
const OUTDATED = 'its certificate is not valid now';
const OTHER_NAME = 'its certificate bears another name: CONSUL_TLS_SERVER_NAME';
const CLIENT = 'it demands a client certificate that it trusts: CONSUL_CLIENT_CERT, CONSUL_CLIENT_KEY';
const KEY = 'the client certificate and its key do not belong together: CONSUL_CLIENT_CERT, CONSUL_CLIENT_KEY';
const PEM = 'a certificate or key given here is no PEM: CONSUL_CACERT, CONSUL_CLIENT_CERT, CONSUL_CLIENT_KEY';
const NO_TLS = 'it does not speak TLS: http instead of https in CONSUL_HTTP_ADDR?';

const PROBLEMS: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  CERT_SIGNATURE_FAILURE: UNKNOWN_CA,
  CERT_UNTRUSTED: UNKNOWN_CA,
  CERT_HAS_EXPIRED: OUTDATED,
  CERT_NOT_YET_VALID: OUTDATED,
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER_NAME,
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: KEY,
  ERR_OSSL_PEM_NO_START_LINE: PEM,
  ERR_OSSL_PEM_BAD_BASE64_DECODE: PEM,
  ERR_OSSL_UNSUPPORTED: PEM,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};

/** An alert that a server sends when it does not like what it was shown, or that it was shown nothing. */
const CLIENT_ALERT = /^ERR_SSL_.*ALERT_(?:CERTIFICATE_\w+|\w+_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)$/;

/** Names the cause and the setting; `undefined` for a code that has nothing to do with TLS. */
export function tlsProblem(code: string): string | undefined {
  return PROBLEMS[code] ?? (CLIENT_ALERT.test(code) ? CLIENT : undefined);
}
