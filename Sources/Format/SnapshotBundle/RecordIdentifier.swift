import RemoteSettingsModel

/// Derives record ids from text.
package enum RecordIdentifier {
    /// Returns a valid id for a text: the text itself if it is a valid id, otherwise its valid characters and part of
    /// its SHA-256, so that different texts have different ids.
    package static func derived(from text: String) -> String {
        if Identifier.isValid(text.utf8), text.utf8.count <= 200 { return text }
        let shown = text.unicodeScalars.map { scalar in
            scalar.isASCII && Identifier.isValid(String(scalar).utf8) ? Character(scalar) : "-"
        }
        let trimmed = String(shown.drop { $0 == "-" }.prefix(150))
        let piece = SHA256Digest(hashing: Bytes(utf8: text)).hex.prefix(12)
        return trimmed.isEmpty ? String(piece) : "\(trimmed)-\(piece)"
    }
}
