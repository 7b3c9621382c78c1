import RemoteSettingsModel

/// The DNS name that the leaf certificate must contain to sign a collection.
///
/// Names are compared as DNS names, ignoring ASCII case.
package struct SignerName: Sendable, CustomStringConvertible {
    /// The name as specified.
    package let dnsName: String

    /// Creates a name.
    ///
    /// - Parameter dnsName: a host name. It is not validated; an invalid name matches no certificate.
    package init(_ dnsName: String) {
        self.dnsName = dnsName
    }

    /// The signer of all of Mozilla's buckets except those of ``oneCRL``.
    package static let remoteSettings = SignerName("remote-settings.content-signature.mozilla.org")
    /// The signer of the buckets `security-state` and `security-state-preview`.
    package static let oneCRL = SignerName("onecrl.content-signature.mozilla.org")

    /// Returns the signer name of `collection` on Mozilla's servers.
    ///
    /// It is ``oneCRL`` for the buckets `security-state` and `security-state-preview`, and ``remoteSettings`` for all
    /// others.
    package static func expected(for collection: CollectionID) -> SignerName {
        switch collection.bucket {
        case "security-state", "security-state-preview": .oneCRL
        default: .remoteSettings
        }
    }

    /// Returns whether `name` is the same DNS name.
    func matches(_ name: String) -> Bool {
        SignerName(name) == self
    }

    package var description: String { dnsName }
}

extension SignerName: Hashable {
    package static func == (left: SignerName, right: SignerName) -> Bool {
        left.dnsName.utf8.elementsEqual(right.dnsName.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    package func hash(into hasher: inout Hasher) {
        for byte in dnsName.utf8 {
            hasher.combine(byte.asciiLowercased)
        }
    }
}

extension UInt8 {
    var asciiLowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}
