import Foundation

/// A Markdown table of measurements.
struct Table {
    private var lines: [String]

    init(_ title: String) {
        lines = [
            "### \(title)", "", "| | ms, min / median | CPU ms, median | MB/s at the median | goal |",
            "| --- | --- | --- | --- | --- |",
        ]
    }

    /// - Parameter bytes: what was worked through, where a rate says something.
    mutating func add(_ name: String, _ measured: Measurement, bytes: Int? = nil, goal: String = "") {
        let median = measured.median.milliseconds
        let rate = bytes.map { Self.text(Double($0) / 1000 / median, digits: 0) } ?? ""
        let times = "\(Self.text(measured.least.milliseconds, digits: 3)) / \(Self.text(median, digits: 3))"
        let cpu = Self.text(measured.cpuMedian.milliseconds, digits: 3)
        lines.append("| \(name) | \(times) | \(cpu) | \(rate) | \(goal) |")
    }

    var text: String { lines.joined(separator: "\n") + "\n" }

    static func text(_ number: Double, digits: Int) -> String {
        String(format: "%.\(digits)f", number)
    }
}
