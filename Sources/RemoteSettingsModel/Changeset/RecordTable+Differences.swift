/// One record that two states of a collection do not have in common.
public enum RecordDifference: Sendable, Hashable {
    case created(Record)
    case updated(old: Record, new: Record)
    case deleted(Record)
}

extension RecordTable {
    /// What turns `old` into this table, in the order of ids. Records of equal bytes are equal.
    public func differences(from old: RecordTable) -> [RecordDifference] {
        var differences: [RecordDifference] = []
        var (left, right) = (0, 0)
        while left < old.count || right < count {
            let order = left >= old.count ? 1 : right >= count ? -1 : old.compare(left, self, right)
            if order < 0 {
                differences.append(.deleted(old[left]))
            } else if order > 0 {
                differences.append(.created(self[right]))
            } else if old.json(at: left) != json(at: right) {
                differences.append(.updated(old: old[left], new: self[right]))
            }
            if order <= 0 { left += 1 }
            if order >= 0 { right += 1 }
        }
        return differences
    }
}
