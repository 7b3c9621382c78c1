import RemoteSettingsModel

extension CollectionID {
    /// Returns the most similar id; `nil` if none is similar.
    func mostSimilar(in names: some Sequence<CollectionID>) -> CollectionID? {
        let distances = names.lazy.filter { $0 != self }.map { other in
            (other, other.name == name ? 1 : Self.distance(Array("\(self)".utf8), Array("\(other)".utf8)))
        }
        guard let (nearest, distance) = distances.min(by: { ($0.1, $0.0) < ($1.1, $1.0) }),
            distance <= max(2, name.utf8.count / 4)
        else { return nil }
        return nearest
    }

    /// Returns the Levenshtein distance: the number of bytes to insert, remove or replace.
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (i, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, otherByte) in other.enumerated() {
                let replaced = diagonal + (byte == otherByte ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[other.count]
    }
}
