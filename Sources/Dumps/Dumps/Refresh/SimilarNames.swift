import RemoteSettingsModel

extension CollectionID {
    /// Returns the most similar id; `nil` if none is similar.
    package func mostSimilar(in names: some Sequence<CollectionID>) -> CollectionID? {
        let distances = names.lazy.filter { $0 != self }.map { other in
            (other, other.name == name ? 1 : "\(self)".distance(to: "\(other)"))
        }
        guard let (nearest, distance) = distances.min(by: { ($0.1, $0.0) < ($1.1, $1.0) }),
            distance <= max(2, name.utf8.count / 4)
        else { return nil }
        return nearest
    }
}

extension Sequence<CollectionID> {
    /// Returns a question about the name that may have been intended instead of one of these, followed by other advice.
    package func didYouMean(_ known: some Sequence<CollectionID>, or advice: String) -> String {
        for id in self {
            if let similar = id.mostSimilar(in: known) { return "did you mean \(similar)? If not, \(advice)" }
        }
        return advice
    }
}

extension String {
    /// Returns the most similar word; `nil` if none is similar.
    package func mostSimilar(in words: some Sequence<String>) -> String? {
        let distances = words.map { ($0, distance(to: $0)) }
        guard let (nearest, distance) = distances.min(by: { ($0.1, $0.0) < ($1.1, $1.0) }),
            distance <= max(1, (utf8.count + 1) / 3)
        else { return nil }
        return nearest
    }

    /// Returns the Levenshtein distance: the number of bytes to insert, remove or replace.
    fileprivate func distance(to text: String) -> Int {
        let other = Array(text.utf8)
        var row = Array(0...other.count)
        for (i, byte) in utf8.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, otherByte) in other.enumerated() {
                let replaced = diagonal + (byte == otherByte ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = Swift.min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[other.count]
    }
}
