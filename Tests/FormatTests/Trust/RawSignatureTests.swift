import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

/// A single signature over a payload.
struct RawSignatureTests {
    static let payload = Bytes(utf8: #"{"data":[{"id":"a"}],"last_modified":"1700000000000"}"#)
    /// The order of P-384, from FIPS 186-4, D.1.2.4.
    static let order = bytes(
        """
        ffffffffffffffffffffffffffffffffffffffffffffffff\
        c7634d81f4372ddf581a0db248b0a77aecec196accc52973
        """)

    let made: TestChain
    let chain: VerifiedChain

    init() throws {
        made = try TestPKI().issue()
        chain = try made.verified()
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        var rest = Substring(hex)
        var bytes: [UInt8] = []
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// a - b, both 48 bytes, big-endian.
    private func difference(_ a: [UInt8], _ b: ArraySlice<UInt8>) -> [UInt8] {
        var borrow = 0
        return zip(a, b).reversed().map { x, y in
            let value = Int(x) - Int(y) - borrow
            borrow = value < 0 ? 1 : 0
            return UInt8(truncatingIfNeeded: value)
        }.reversed()
    }

    private func verify(_ raw: [UInt8], padded: Bool = false) throws {
        try chain.verify(base64URL(raw, padded: padded), over: Self.payload)
    }

    @Test func validSignatureIsVerified() throws {
        for _ in 0..<8 {
            let raw = try made.rawSignature(over: Self.payload)
            #expect(throws: Never.self) { try verify(raw) }
        }
    }

    @Test func signatureWithLowOrHighS() throws {
        let raw = try made.rawSignature(over: Self.payload)
        let other = raw[..<48] + difference(Self.order, raw[48...])
        #expect(Array(other) != raw)
        #expect(throws: Never.self) { try verify(Array(other)) }
    }

    @Test func signatureBase64PaddingIsOptional() throws {
        // 96 bytes need no padding. With other lengths, the error shows whether padded base64 was decoded.
        for padded in [false, true] {
            for count in [95, 97] {
                #expect(throws: Failure.wrongSignatureLength(found: count)) {
                    try verify([UInt8](repeating: 1, count: count), padded: padded)
                }
            }
        }
    }

    /// 102 bytes is the length of a DER signature.
    @Test(arguments: [0, 1, 48, 95, 97, 98, 102, 192])
    func signatureOfWrongLengthIsRefused(count: Int) {
        #expect(throws: Failure.wrongSignatureLength(found: count)) { try verify([UInt8](repeating: 1, count: count)) }
    }

    @Test(arguments: ["+", "/", " ", "\n", "=", "\u{0}", "é", "%"])
    func signatureWithInvalidCharacterIsRefused(character: String) throws {
        let text = base64URL(try made.rawSignature(over: Self.payload))
        // Keeps the number of bytes, so that the length is valid.
        let changed = character + text.dropFirst(character.utf8.count)
        expectFailure(.untrusted, "the signature is not base64url: character 1, ") {
            try chain.verify(changed, over: Self.payload)
        }
    }

    @Test(arguments: ["A", "AA=", "AA===", "AAA==", "AAAA=", "AAAA==", "AB", "AAB", "=", "==", "A=A="])
    func signatureWithPartialBase64IsRefused(text: String) {
        expectFailure(.untrusted, "the signature is not base64url: ") { try chain.verify(text, over: Self.payload) }
    }

    @Test(arguments: [SignatureComponent.r, .s])
    func signatureComponentOutOfRangeIsRefused(component: SignatureComponent) throws {
        let good = try made.rawSignature(over: Self.payload)
        func replaced(by number: [UInt8]) -> [UInt8] {
            component == .r ? number + good[48...] : good[..<48] + number
        }
        var one = [UInt8](repeating: 0, count: 48)
        #expect(throws: Failure.signatureOutOfRange(component, .zero)) { try verify(replaced(by: one)) }
        one[47] = 1
        #expect(throws: Failure.signatureMismatch(signer: .remoteSettings)) { try verify(replaced(by: one)) }
        let highest = difference(Self.order, one[...])
        #expect(throws: Failure.signatureMismatch(signer: .remoteSettings)) { try verify(replaced(by: highest)) }
        for tooHigh in [Self.order, [UInt8](repeating: 0xFF, count: 48)] {
            #expect(throws: Failure.signatureOutOfRange(component, .notBelowOrder)) {
                try verify(replaced(by: tooHigh))
            }
        }
    }

    @Test func signatureOverOtherBytesIsRefused() throws {
        let signature = try made.signature(over: Self.payload)
        for other in [
            Bytes(), Bytes(utf8: "Content-Signature:\0" + Self.payload.text), Bytes(utf8: Self.payload.text + " "),
            Self.payload[0..<Self.payload.count - 1],
        ] {
            #expect(throws: Failure.signatureMismatch(signer: .remoteSettings)) {
                try chain.verify(signature, over: other)
            }
        }
    }

    @Test func signatureWithChangedBitIsRefused() throws {
        let raw = try made.rawSignature(over: Self.payload)
        for index in raw.indices {
            var changed = raw
            changed[index] ^= 1 << UInt8(index % 8)
            #expect(failure { try verify(changed) } != nil, "byte \(index)")
        }
    }

    @Test func signatureOfOtherKeyIsRefused() throws {
        let other = try TestPKI().issue().signature(over: Self.payload)
        #expect(throws: Failure.signatureMismatch(signer: .remoteSettings)) {
            try chain.verify(other, over: Self.payload)
        }
    }

    @Test func signatureOverEmptyOrSlicedPayload() throws {
        let empty = try made.signature(over: Bytes())
        #expect(throws: Never.self) { try chain.verify(empty, over: Bytes()) }
        let signature = try made.signature(over: Self.payload)
        let whole = Bytes(utf8: "before" + Self.payload.text + "after")
        #expect(throws: Never.self) { try chain.verify(signature, over: whole[6..<6 + Self.payload.count]) }
    }
}
