import RemoteSettingsModel

/// The certificates of a PEM text (RFC 7468) as DER, in the same order. The DER itself is not parsed.
struct PEMCertificates {
    let der: [[UInt8]]

    private static let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
    private static let end = Array("-----END CERTIFICATE-----".utf8)
    private static let dashes = Array("-----".utf8)

    init(_ text: Bytes) throws(Failure) {
        guard text.count <= Limits.chainBytes else { throw .chainTooLarge(bytes: text.count, limit: Limits.chainBytes) }
        let bytes = text.withoutByteOrderMark.array
        guard !bytes.allSatisfy(Self.isWhiteSpace) else { throw .emptyChain }

        var certificates: [[UInt8]] = []
        var body: [UInt8]?
        for rawLine in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let line = Self.trimmed(rawLine)
            if let digits = body {
                if line.elementsEqual(Self.end) {
                    certificates.append(try Self.decode(digits, certificate: certificates.count + 1))
                    body = nil
                } else if line.starts(with: Self.dashes) {
                    throw .truncatedPEM(certificate: certificates.count + 1)
                } else {
                    body?.append(contentsOf: line)
                }
            } else if line.elementsEqual(Self.begin) {
                guard certificates.count < Limits.chainCertificates else {
                    throw .tooManyCertificates(limit: Limits.chainCertificates)
                }
                body = []
            } else if line.starts(with: Self.dashes) {
                throw .notPEM(found: Self.label(line) ?? "a line that begins with -----")
            }
            // Any other line between certificates is explanatory text (RFC 7468, section 2).
        }
        guard body == nil else { throw .truncatedPEM(certificate: certificates.count + 1) }
        guard !certificates.isEmpty else { throw .notPEM(found: "no certificate in \(bytes.count) bytes") }
        der = certificates
    }

    /// Returns the line if it is the first or last line of a PEM block (RFC 7468) and therefore safe to quote.
    private static func label(_ line: some Collection<UInt8>) -> String? {
        let text = String(decoding: line, as: UTF8.self)
        guard text.hasPrefix("-----BEGIN ") || text.hasPrefix("-----END "), text.hasSuffix("----"), text.count <= 60,
            text.utf8.allSatisfy({ (0x41...0x5A).contains($0) || $0 == 0x20 || $0 == 0x2D })
        else { return nil }
        return text
    }

    private static func decode(_ digits: [UInt8], certificate: Int) throws(Failure) -> [UInt8] {
        try mapFailure(of: try Base64.decode(digits, .standard)) {
            Failure.malformedPEM(certificate: certificate, reason: $0.description)
        }
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line.drop(while: isWhiteSpace)
        while let last = line.last, isWhiteSpace(last) { line.removeLast() }
        return line
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (byte >= 9 && byte <= 13)
    }
}
