import Crypto
import RemoteSettingsModel

/// A P-384 private key, which signs content and certificates. It can be parsed from PEM and exported as PEM.
///
/// Its description never reveals the key.
package struct PrivateKey: Sendable, CustomStringConvertible {
    let p384: P384.Signing.PrivateKey

    /// Generates a key from the system's random number generator.
    package init() {
        p384 = P384.Signing.PrivateKey()
    }

    /// Parses PEM data: `PRIVATE KEY` (PKCS#8) or `EC PRIVATE KEY` (SEC 1), not encrypted. No I/O.
    ///
    /// Text around the key is ignored, because `openssl ecparam` writes parameters before it. A line feed may be
    /// written as `\n`, because in some systems an environment variable must be a single line.
    ///
    /// - Parameter place: the file or environment variable, for error messages.
    /// - Throws: ``Failure`` unless there is exactly one private key, which is a P-384 key and not encrypted.
    package init(pem: Bytes, place: String) throws(Failure) {
        func refused(_ found: String, remedy: String = "give a P-384 key as rsdump keys writes it") -> Failure {
            Failure(file: place, found: found, remedy: remedy)
        }
        let text = PEMText.normalized(pem)
        guard !text.contains("ENCRYPTED") else {
            throw refused("the private key is encrypted", remedy: "decrypt it with: openssl pkcs8 -in FILE -out FILE")
        }
        let blocks = PEMText.blocks(text).filter { $0.hasPrefix("-----BEGIN") && $0.contains("PRIVATE KEY-----") }
        guard let block = blocks.first else {
            throw refused(
                text.contains("BEGIN CERTIFICATE")
                    ? "this is a certificate, not a private key"
                    : text.isEmpty ? "the private key is empty" : "this is not a private key in PEM format"
            )
        }
        guard blocks.count == 1 else {
            throw refused("there are \(blocks.count) private keys, but only one is allowed")
        }
        do {
            p384 = try P384.Signing.PrivateKey(pemRepresentation: block)
        } catch {
            throw refused("the key is damaged or is not a P-384 key")
        }
    }

    /// The key as `PRIVATE KEY` (PKCS#8), with a trailing line feed.
    package var pem: Bytes { Bytes(utf8: p384.pemRepresentation + "\n") }

    package var publicKey: PublicKey { PublicKey(p384: p384.publicKey) }

    package func isSame(as other: PrivateKey) -> Bool {
        p384.publicKey.rawRepresentation == other.p384.publicKey.rawRepresentation
    }

    package var description: String { "a P-384 private key" }
}

/// A P-384 public key, parsed from PEM. Its private key may be in hardware that never exports it.
package struct PublicKey: Sendable {
    let p384: P384.Signing.PublicKey

    init(p384: P384.Signing.PublicKey) {
        self.p384 = p384
    }

    /// Parses PEM data with a `PUBLIC KEY` (RFC 5280, SubjectPublicKeyInfo). No I/O.
    ///
    /// - Parameter place: the file, for error messages.
    /// - Throws: ``Failure`` unless there is exactly one public key, which is a P-384 key, and no private key.
    package init(pem: Bytes, place: String) throws(Failure) {
        func refused(_ found: String) -> Failure {
            Failure(
                file: place, found: found,
                remedy: "give a PEM file of the public key; convert DER with: openssl pkey -pubin -inform DER -in FILE")
        }
        let text = PEMText.normalized(pem)
        guard !text.contains("PRIVATE KEY-----") else { throw refused("this is a private key, not a public key") }
        let blocks = PEMText.blocks(text).filter { $0.hasPrefix("-----BEGIN PUBLIC KEY-----") }
        guard blocks.count == 1 else {
            throw refused(
                blocks.isEmpty
                    ? "there is no public key in PEM format"
                    : "there are \(blocks.count) public keys, but only one is allowed")
        }
        do {
            p384 = try P384.Signing.PublicKey(pemRepresentation: blocks[0])
        } catch {
            throw refused("the key is damaged or is not a P-384 key")
        }
    }
}

/// Splits PEM data from files and environment variables into blocks.
enum PEMText {
    /// Returns the text without a byte order mark, empty lines, or white space around lines. An escaped `\n` or `\r`
    /// counts as a line break.
    static func normalized(_ text: Bytes) -> String {
        let unescaped = text.withoutByteOrderMark.text.replacing("\\n", with: "\n").replacing("\\r", with: "\n")
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let lines = Bytes(utf8: unescaped).lines.map { line in
            String(decoding: line.array.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
        }
        return lines.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// Returns each block, including its first and last line. Text between blocks is dropped.
    static func blocks(_ text: String) -> [String] {
        var blocks: [String] = []
        var block: [Substring]?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("-----BEGIN ") { block = [] }
            block?.append(line)
            if line.hasPrefix("-----END "), let lines = block {
                blocks.append(lines.joined(separator: "\n") + "\n")
                block = nil
            }
        }
        return blocks
    }
}
