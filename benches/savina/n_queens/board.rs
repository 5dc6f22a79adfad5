const LARGEST: usize = 16;

/// A board with one queen in each of its first rows; no two attack each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Board {
    rows: usize,
    columns: [u8; LARGEST],
}

impl Board {
    pub(super) const EMPTY: Self = Self { rows: 0, columns: [0; LARGEST] };

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The boards with one more queen.
    pub(super) fn larger(self, size: usize) -> impl Iterator<Item = Self> {
        (0..size as u8).filter(move |&column| self.is_safe(column)).map(move |column| self.with(column))
    }

    /// The number of ways to complete a board of this size.
    pub(super) fn solutions(self, size: usize) -> usize {
        if self.rows == size {
            return 1;
        }
        self.larger(size).map(|board| board.solutions(size)).sum()
    }

    /// Whether no queen attacks this column of the next row.
    fn is_safe(&self, column: u8) -> bool {
        let placed = self.columns[..self.rows].iter();
        placed.zip((1..=self.rows).rev()).all(|(&other, rows_between)| {
            let columns_between = usize::from(other.abs_diff(column));
            columns_between != 0 && columns_between != rows_between
        })
    }

    fn with(mut self, column: u8) -> Self {
        self.columns[self.rows] = column;
        self.rows += 1;
        self
    }
}
