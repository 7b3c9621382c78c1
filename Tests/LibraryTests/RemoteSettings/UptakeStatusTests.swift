@testable import RemoteSettingsModel
import Testing
@testable import RemoteSettings
@testable import RemoteSettingsHTTP
@testable import SnapshotBundle

/// The telemetry status of each kind of error.
struct UptakeStatusTests {
    private typealias Status = UptakeEvent.Status

    private static let httpReasons: [(Failure, UptakeEvent.Status)] = [
        (.backoff(until: Timestamp(milliseconds: 1), seconds: 1), .backoff),
        (.timeout(.connect, seconds: 1), .timeoutError), (.timeout(.head, seconds: 1), .timeoutError),
        (.timeout(.body, seconds: 1), .timeoutError), (.status(503, body: ""), .serverError),
        (.status(404, body: ""), .serverError), (.redirectLoop, .serverError),
        (.cancelled, .shutdownError), (.tls("x"), .certificateError), (.tooLarge(limit: 1), .contentError),
        (.badEncoding("x"), .contentError),
        (.unreachable("x"), .networkError), (.connection("x"), .networkError),
        (.truncated(expected: 2, received: 1), .networkError), (.notHTTP("x"), .networkError),
        (.invalidURL("x"), .networkError), (.insecure, .networkError),
    ]

    @Test func uptakeStatusOfHTTPErrors() {
        for (reason, status) in Self.httpReasons {
            let error = Failure("https://example.org/", reason)
            #expect(Status(error) == status, "\(reason)")
            #expect(Status(error.asRefusedAccess()) == status, "\(reason)")
        }
        let missing = Failure("https://example.org/", .status(404, body: "")).asUnknownCollection()
        #expect(Status(missing) == .serverError && SyncUptake(.serverError, missing).httpStatus == 404)
    }

    @Test func uptakeStatusOfInvalidStates() {
        let (old, new) = (Timestamp(milliseconds: 1), Timestamp(milliseconds: 2))
        #expect(Status(Failure.changeset(Failure(.tooDeep(limit: 1), at: 0), url: "u")) == .parseError)
        #expect(Status(Failure.changeset(.missing("changes"), url: "u")) == .contentError)
        #expect(Status(Failure.changeset(.duplicateRecord("a"), url: "u")) == .contentError)
        #expect(Status(Failure.noAnswer(url: "u")) == .contentError)
        #expect(Status(Failure.rollback(held: new, answered: old)) == .syncError)
        #expect(Status(Failure.equivocation(new)) == .syncError)
        #expect(Status(Failure.future(answered: new, now: new)) == .syncError)
        #expect(Status(Failure.signatureLost) == .signError)
        #expect(Status(Failure.cutShort(url: "u", received: 1, total: 2)) == .signError)
    }

    @Test func uptakeStatusOfSignatureErrors() throws {
        let signer = SignerName("example.org")
        func failed(_ reasons: Failure...) -> Failure {
            .noValidSignature(reasons.enumerated().map { SignatureFailure(position: $0 + 1, x5u: "u", reason: $1) })
        }
        let ofSignature: [Failure] = [
            .malformedBase64(reason: "x"), .wrongSignatureLength(found: 1), .signatureOutOfRange(.r, .zero),
            .signatureMismatch(signer: signer), .noSignatures, .noChains,
            .onlyUnknownModes(["x"]),
            .newerThanVerification(Timestamp(milliseconds: 2), time: Timestamp(milliseconds: 1)),
        ]
        let ofChain: [Failure] = [
            .emptyChain, .chainTooLarge(bytes: 2, limit: 1), .tooManyCertificates(limit: 8), .notPEM(found: "x"),
            .truncatedPEM(certificate: 1), .malformedPEM(certificate: 1, reason: "x"),
            .malformedCertificate(certificate: 1, reason: "x"),
            .untrustedRoot(found: SHA256Digest(hashing: Bytes(utf8: "")), pinned: []), .chainMissing(x5u: "u"),
            .chainUnavailable(reason: "x"), .signerMismatch(expected: signer, chain: signer),
        ]
        for error in ofSignature {
            #expect(Status(error) == .signError, "\(error)")
            #expect(Status(failed(error)) == .signError, "\(error)")
            #expect(Status(error, wasRetried: true) == .signRetryError, "\(error)")
        }
        for error in ofChain {
            #expect(Status(error) == .certificateError, "\(error)")
            #expect(Status(failed(error)) == .certificateError, "\(error)")
            #expect(Status(error, wasRetried: true) == .certificateError, "\(error)")
        }
        // A chain error takes precedence over a signature error.
        #expect(Status(failed(.signatureMismatch(signer: signer), .emptyChain)) == .certificateError)
    }

    @Test func uptakeStatusOfOtherErrors() {
        struct Unknown: Error {}
        #expect(Status(RemoteSettingsError.offline(reason: "x")) == .networkError)
        #expect(Status(RemoteSettingsError.backoff(.seconds(1))) == .backoff)
        #expect(Status(RemoteSettingsError.other(reason: "x")) == .unknownError)
        #expect(Status(RemoteSettingsError.closed) == .shutdownError)
        #expect(Status(Failure("write", "/x", errno: 28)) == .applyError)
        #expect(Status(CancellationError()) == .shutdownError)
        #expect(Status(Unknown()) == .unknownError)
    }
}
