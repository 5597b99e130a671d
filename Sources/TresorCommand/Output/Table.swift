// SPDX-License-Identifier: Apache-2.0

/// Rows under headings, columns aligned with two spaces between; the last column is not padded.
struct Table: Sendable {
    let headings: [String]
    private(set) var rows: [[String]] = []

    init(_ headings: String...) { self.init(headings) }

    init(_ headings: [String]) { self.headings = headings }

    /// Cells that hold text from others have been through ``DisplayText``.
    mutating func add(_ cells: String...) { add(cells) }

    /// Adds a row whose cells are counted at run time.
    mutating func add(_ cells: [String]) { rows.append(cells) }

    /// Nothing at all when there are no rows.
    func text(_ style: Style) -> String {
        guard !rows.isEmpty else { return "" }
        let lines = [headings] + rows
        let widths = headings.indices.map { column in
            lines.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return lines.enumerated().map { index, cells in
            let line = zip(cells, widths).enumerated().map { column, cell in
                let isLast = column == headings.count - 1
                return cell.0 + String(repeating: " ", count: isLast ? 0 : max(0, cell.1 - cell.0.count))
            }
            .joined(separator: "  ")
            return (index == 0 ? style.bold(line) : line) + "\n"
        }
        .joined()
    }
}
