import CCurl
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Translates a result code of libcurl into an error.
struct CurlFailure {
    let result: CURLcode
    /// libcurl's message.
    let text: String
    /// The `errno` of the last failed system call; 0 for none.
    let systemError: Int32
    let inBody: Bool
    /// The response's `Content-Length`; `nil` if it has none.
    let announced: Int?
    /// The number of body bytes received so far.
    let received: Int
    let headSeconds: Int

    var reason: Failure {
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            .unreachable("host not found (\(text))")
        case CURLE_COULDNT_CONNECT where systemError != 0:
            .unreachable(unsafe String(cString: strerror(systemError)))
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED:
            .unreachable(text)
        case CURLE_OPERATION_TIMEDOUT:
            .timeout(.connect, seconds: headSeconds)
        case CURLE_PARTIAL_FILE where inBody:
            .truncated(expected: announced, received: received)
        case CURLE_OK, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            .connection("it was closed before a response arrived")
        // If the connection broke during the handshake, the server's certificate may be fine, so do not blame TLS.
        case CURLE_SSL_CONNECT_ERROR where systemError != 0:
            .connection(text)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            .tls(text)
        case CURLE_URL_MALFORMAT:
            .invalidURL("rejected by libcurl: \(text)")
        // The first code means that the status line or a field is malformed. Before the head has arrived, the second
        // code means that there is no status line, and the third that a line is longer than libcurl accepts.
        case CURLE_WEIRD_SERVER_REPLY:
            .notHTTP(text)
        case CURLE_UNSUPPORTED_PROTOCOL where !inBody, CURLE_OUT_OF_MEMORY where !inBody:
            .notHTTP(text)
        default:
            .connection(text)
        }
    }
}
