import Dumps
import RemoteSettingsModel

/// The commits of nightly refreshes, in the git history of the dumps directory, that changed other collections but not
/// one for which the server already had a newer state.
///
/// A night that changed nothing has no commit, so there may have been more.
package struct MissedRefreshes: Sendable {
    /// The times of the commits that changed the lock, newest first.
    private let commits: [Timestamp]

    /// Runs git. Without a repository, no refresh was missed.
    package init(_ directory: DumpsDirectory, limits: Limits) async {
        let repository = try? await GitRepository(containing: directory.path, limits: limits)
        commits = ((try? await repository?.revisions(touching: "dumps.lock.json")) ?? []).map(\.time)
    }

    /// How many commits are newer than a state of the server that the bundle does not have, and the time of the first;
    /// `nil` if there is none.
    ///
    /// - Parameter current: the bundle's timestamp; `nil` if there is no bundle.
    package func since(
        _ serverTimestamp: Timestamp?, bundle current: Timestamp?
    ) -> (count: Int, first: Timestamp)? {
        guard let serverTimestamp, serverTimestamp != current else { return nil }
        let missed = commits.prefix { $0 > serverTimestamp }
        return missed.last.map { (missed.count, $0) }
    }

    /// The same in words; `nil` if there is nothing to say.
    package func sentence(_ serverTimestamp: Timestamp?, bundle current: Timestamp?) -> String? {
        since(serverTimestamp, bundle: current).map { count, first in
            "\(Counted.text(count, "refresh", plural: "refreshes")) since \(first.rfc3339) did not fetch the "
                + "server's state"
        }
    }
}

extension CollectionID {
    /// The most similar of these names; `nil` if none is similar.
    func mostSimilar(in names: some Sequence<CollectionID>) -> CollectionID? {
        let distances = names.lazy.filter { $0 != self }.map { other in
            (other, other.name == name ? 1 : Self.distance(Array("\(self)".utf8), Array("\(other)".utf8)))
        }
        guard let (nearest, distance) = distances.min(by: { ($0.1, $0.0) < ($1.1, $1.0) }),
            distance <= max(2, name.utf8.count / 4)
        else { return nil }
        return nearest
    }

    /// The Levenshtein distance: how many bytes must be inserted, removed or replaced.
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
