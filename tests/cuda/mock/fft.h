// Fourier transforms of any length in double, eight at a time, and of real planes by way of them.
// Written to be short and quick enough for hundreds of test runs. No driver is known here.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mock {

constexpr size_t LANES = 8;                       // transforms side by side: element k of lane l is [k * LANES + l]
typedef std::complex<double> Complex;

// Real and imaginary parts of LANES transforms of one length.
struct Lanes {
    std::vector<double> re, im;
    explicit Lanes(size_t n) : re(n * LANES), im(n * LANES) {}
};

// The Stockham form with mixed radices: it needs a second buffer and no reordering.
class Fft {
public:
    explicit Fft(size_t n) : n(n), roots(n) {
        for (size_t k = 0; k < n; k++) roots[k] = std::polar(1.0, -2 * M_PI * (double)k / (double)n);
        for (size_t rest = n, r; rest > 1; rest /= r) radices.push_back(r = radix_of(rest));
    }
    // exp(-2 pi i k x / n) summed over x, in place. With re and im exchanged it is the inverse.
    void run(std::vector<double> &re, std::vector<double> &im, Lanes &other) const {
        size_t length = n, stride = LANES;
        for (size_t r : radices) {
            pass(r, length, stride, re.data(), im.data(), other.re.data(), other.im.data());
            re.swap(other.re);
            im.swap(other.im);
            length /= r;
            stride *= r;
        }
    }
    static const Fft &of(size_t n) {
        static std::mutex mutex;
        static auto *all = new std::map<size_t, std::unique_ptr<Fft>>;
        std::lock_guard<std::mutex> lock(mutex);
        auto &fft = (*all)[n];
        if (!fft) fft = std::make_unique<Fft>(n);
        return *fft;
    }

private:
    static size_t radix_of(size_t n) {
        if (n % 4 == 0) return 4;
        size_t r = 2;
        while (r * r <= n && n % r) r++;
        return n % r ? n : r;
    }
    Complex root(size_t k) const { return roots[k % n]; }

    typedef const double *In;
    typedef double *Out;
    void pass(size_t r, size_t length, size_t stride, In re, In im, Out tre, Out tim) const {
        size_t parts = length / r;
        for (size_t p = 0; p < parts; p++) {
            size_t from = stride * p, apart = stride * parts, to = stride * r * p, turn = p * (n / length);
            if (r == 4) four(stride, apart, turn, re + from, im + from, tre + to, tim + to);
            else if (r == 2) small<2>(stride, apart, turn, re + from, im + from, tre + to, tim + to);
            else if (r == 3) small<3>(stride, apart, turn, re + from, im + from, tre + to, tim + to);
            else if (r == 5) small<5>(stride, apart, turn, re + from, im + from, tre + to, tim + to);
            else if (r == 7) small<7>(stride, apart, turn, re + from, im + from, tre + to, tim + to);
            else any(r, stride, apart, turn, re + from, im + from, tre + to, tim + to);
        }
    }
    void four(size_t count, size_t apart, size_t turn, In re, In im, Out __restrict tre, Out __restrict tim) const {
        Complex w1 = root(turn), w2 = root(2 * turn), w3 = root(3 * turn);
        double c1 = w1.real(), s1 = w1.imag(), c2 = w2.real(), s2 = w2.imag(), c3 = w3.real(), s3 = w3.imag();
        for (size_t q = 0; q < count; q++) {
            double ar = re[q], ai = im[q], br = re[q + apart], bi = im[q + apart];
            double cr = re[q + 2 * apart], ci = im[q + 2 * apart], dr = re[q + 3 * apart], di = im[q + 3 * apart];
            double pr = ar + cr, pi = ai + ci, mr = ar - cr, mi = ai - ci;
            double qr = br + dr, qi = bi + di, nr = bi - di, ni = dr - br;       // n = -i (b - d)
            double xr = mr + nr, xi = mi + ni, yr = pr - qr, yi = pi - qi, zr = mr - nr, zi = mi - ni;
            tre[q] = pr + qr, tim[q] = pi + qi;
            tre[q + count] = xr * c1 - xi * s1, tim[q + count] = xr * s1 + xi * c1;
            tre[q + 2 * count] = yr * c2 - yi * s2, tim[q + 2 * count] = yr * s2 + yi * c2;
            tre[q + 3 * count] = zr * c3 - zi * s3, tim[q + 3 * count] = zr * s3 + zi * c3;
        }
    }
    template <size_t R>
    void small(size_t count, size_t apart, size_t turn, In re, In im, Out __restrict tre, Out __restrict tim) const {
        double c[R][R], s[R][R];
        for (size_t j = 0; j < R; j++)
            for (size_t k = 0; k < R; k++) {
                Complex w = root(j * k % R * (n / R) + j * turn);
                c[j][k] = w.real();
                s[j][k] = w.imag();
            }
        for (size_t q = 0; q < count; q++) {
            double a[R], b[R];
            for (size_t k = 0; k < R; k++) a[k] = re[q + k * apart], b[k] = im[q + k * apart];
            for (size_t j = 0; j < R; j++) {
                double x = 0, y = 0;
                for (size_t k = 0; k < R; k++) x += a[k] * c[j][k] - b[k] * s[j][k], y += a[k] * s[j][k] + b[k] * c[j][k];
                tre[q + j * count] = x;
                tim[q + j * count] = y;
            }
        }
    }
    void any(size_t r, size_t count, size_t apart, size_t turn, In re, In im, Out __restrict tre, Out __restrict tim) const {
        for (size_t j = 0; j < r; j++) {
            double *x = tre + j * count, *y = tim + j * count;
            std::fill(x, x + count, 0.0);
            std::fill(y, y + count, 0.0);
            for (size_t k = 0; k < r; k++) {
                Complex w = root(j * k % r * (n / r) + j * turn);
                double c = w.real(), s = w.imag();
                const double *a = re + k * apart, *b = im + k * apart;
                for (size_t q = 0; q < count; q++) x[q] += a[q] * c - b[q] * s, y[q] += a[q] * s + b[q] * c;
            }
        }
    }
    size_t n;
    std::vector<Complex> roots;
    std::vector<size_t> radices;
};

// A plane of ny rows of nx reals and its half spectrum, ny rows of nx / 2 + 1.
class RealPlane {
public:
    RealPlane(size_t nx, size_t ny)
        : nx(nx), ny(ny), nh(nx / 2 + 1), rows(nx), columns(ny), other_row(nx), other_column(ny), half(ny * nh) {}

    template <class R> void forward(const R *in, size_t in_row, std::complex<R> *out, size_t out_row) {
        for (size_t y = 0; y < ny; y += 2 * LANES) {
            std::fill(rows.re.begin(), rows.re.end(), 0.0);
            std::fill(rows.im.begin(), rows.im.end(), 0.0);
            for (size_t row = y; row < std::min(ny, y + 2 * LANES); row++) {
                double *to = part(row - y) + (row - y) / 2;
                for (size_t x = 0; x < nx; x++) to[x * LANES] = (double)in[row * in_row + x];
            }
            Fft::of(nx).run(rows.re, rows.im, other_row);
            for (size_t row = y; row < std::min(ny, y + 2 * LANES); row++) untangle(row, row - y);
        }
        for (size_t k = 0; k < nh; k += LANES) {
            take(half.data(), nh, k);
            Fft::of(ny).run(columns.re, columns.im, other_column);
            give(out, out_row, k);
        }
    }
    template <class R> void inverse(const std::complex<R> *in, size_t in_row, R *out, size_t out_row) {
        for (size_t k = 0; k < nh; k += LANES) {
            take(in, in_row, k);
            Fft::of(ny).run(columns.im, columns.re, other_column);
            give(half.data(), nh, k);
        }
        for (size_t y = 0; y < ny; y += 2 * LANES) {
            std::fill(rows.re.begin(), rows.re.end(), 0.0);
            std::fill(rows.im.begin(), rows.im.end(), 0.0);
            for (size_t row = y; row < std::min(ny, y + 2 * LANES); row++) tangle(row, row - y);
            Fft::of(nx).run(rows.im, rows.re, other_row);
            for (size_t row = y; row < std::min(ny, y + 2 * LANES); row++) {
                const double *from = part(row - y) + (row - y) / 2;
                for (size_t x = 0; x < nx; x++) out[row * out_row + x] = (R)from[x * LANES];
            }
        }
    }
    // How far the half spectrum is from that of a real plane, in units of its peak: only its first
    // column, and of an even length the last, say anything of that.
    template <class R> double asymmetry(const std::complex<R> *in, size_t in_row) const {
        double peak = 0, off = 0;
        for (size_t y = 0; y < ny; y++)
            for (size_t k = 0; k < nh; k++) peak = std::max(peak, (double)std::abs(in[y * in_row + k]));
        for (size_t k : {(size_t)0, nx / 2}) {
            if (k != 0 && nx % 2) continue;
            for (size_t y = 0; y < ny; y++) {
                Complex one(in[y * in_row + k]), partner(in[(ny - y) % ny * in_row + k]);
                off = std::max(off, std::abs(one - std::conj(partner)));
            }
        }
        return peak > 0 ? off / peak : 0;
    }

private:
    // Two rows are one complex transform: the even one is its real part.
    double *part(size_t row) { return row % 2 ? rows.im.data() : rows.re.data(); }
    void untangle(size_t y, size_t row) {
        for (size_t k = 0; k < nh; k++) {
            size_t at = k * LANES + row / 2, mirror = (nx - k) % nx * LANES + row / 2;
            Complex z(rows.re[at], rows.im[at]), m(rows.re[mirror], -rows.im[mirror]);
            half[y * nh + k] = row % 2 ? Complex(0, -0.5) * (z - m) : 0.5 * (z + m);
        }
    }
    void tangle(size_t y, size_t row) {
        for (size_t k = 0; k < nx; k++) {
            size_t at = k * LANES + row / 2;
            Complex z = k < nh ? half[y * nh + k] : std::conj(half[y * nh + nx - k]);
            if (k == 0 || 2 * k == nx) z = z.real();
            if (row % 2) z *= Complex(0, 1);
            rows.re[at] += z.real();
            rows.im[at] += z.imag();
        }
    }
    template <class R> void take(const std::complex<R> *from, size_t row, size_t k) {
        size_t count = std::min(LANES, nh - k);
        for (size_t y = 0; y < ny; y++)
            for (size_t l = 0; l < LANES; l++) {
                Complex z = l < count ? Complex(from[y * row + k + l]) : Complex(0, 0);
                columns.re[y * LANES + l] = z.real();
                columns.im[y * LANES + l] = z.imag();
            }
    }
    template <class R> void give(std::complex<R> *to, size_t row, size_t k) {
        size_t count = std::min(LANES, nh - k);
        for (size_t y = 0; y < ny; y++)
            for (size_t l = 0; l < count; l++)
                to[y * row + k + l] = {(R)columns.re[y * LANES + l], (R)columns.im[y * LANES + l]};
    }
    size_t nx, ny, nh;
    Lanes rows, columns, other_row, other_column;
    std::vector<Complex> half;
};

}  // namespace mock
